//! News: tells waiting tasks and other instances that events were committed.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::events::queries;
use crate::kernel::secrets::random_hex_32;
use crate::kernel::telemetry::chain;

/// The delay before other instances are notified, so that one notification covers several commits and does not compete with more
/// urgent work.
const GATHERING: Duration = Duration::from_millis(10);

/// Announces events that this instance committed without a notification ([`publish_untold`](super::publish_untold)): to tasks of
/// this instance immediately, to other instances by a notification shortly after. Clones share the channel.
#[derive(Clone, Debug)]
pub struct News {
    here: watch::Sender<()>,
    /// The payload of this instance's notifications.
    instance: Arc<str>,
}

impl Default for News {
    fn default() -> Self {
        Self { here: watch::Sender::default(), instance: random_hex_32().into() }
    }
}

impl News {
    /// Announces that events were committed.
    pub fn committed(&self) {
        self.here.send_replace(());
    }

    /// A receiver that changes whenever this instance has committed events.
    pub fn follow(&self) -> watch::Receiver<()> {
        self.here.subscribe()
    }

    /// Whether a notification with this payload was sent by this instance.
    pub fn are_ours(&self, payload: &str) -> bool {
        *self.instance == *payload
    }

    /// Notifies the other instances until shutdown. A notification only speeds up what polling would find, so a failed one is not
    /// repeated.
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
