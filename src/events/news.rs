//! News: that events were committed, for whoever waits for them.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::events::queries;
use crate::kernel::secrets::random_hex_32;
use crate::kernel::telemetry::chain;

/// So much later the others hear of it, together with all that was committed meanwhile: here there is more urgent work at that moment.
const GATHERING: Duration = Duration::from_millis(10);

/// Tells of the events that this instance committed without a notification ([`publish_untold`](super::publish_untold)): whoever waits
/// here at once, other instances by a notification a moment later. Clones tell the same.
#[derive(Clone, Debug)]
pub struct News {
    here: watch::Sender<()>,
    /// What the notifications of this instance say.
    instance: Arc<str>,
}

impl Default for News {
    fn default() -> Self {
        Self { here: watch::Sender::default(), instance: random_hex_32().into() }
    }
}

impl News {
    /// Events were committed.
    pub fn committed(&self) {
        self.here.send_replace(());
    }

    /// Changes whenever events were committed here.
    pub fn follow(&self) -> watch::Receiver<()> {
        self.here.subscribe()
    }

    /// Whether a notification with this payload is one of ours.
    pub fn are_ours(&self, payload: &str) -> bool {
        *self.instance == *payload
    }

    /// Tells the others until the program is to stop. A notification only hurries what polling would find, so none is sent twice.
    pub async fn spread(self, pool: PgPool, stopping: CancellationToken) {
        let mut here = self.follow();
        while stopping.run_until_cancelled(here.changed()).await.is_some() {
            sleep(GATHERING).await;
            here.mark_unchanged();
            let told = async { queries::notify(&mut *pool.acquire().await?, &self.instance).await };
            if let Err(error) = told.await {
                tracing::debug!(error = chain(&error), "other instances are not told of events");
            }
        }
    }
}
