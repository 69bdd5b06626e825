//! Notifies waiting tasks and other instances that events were committed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::events::queries;
use crate::kernel::crypto::random_hex;
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;

/// The delay before other instances are notified, so that one notification covers several commits and does not compete with more
/// urgent work.
const NOTIFY_DELAY: Duration = Duration::from_millis(10);

/// Announces events that this instance committed without a notification
/// ([`publish_without_notify`](crate::events::publish_without_notify)): to tasks of this instance immediately, to other instances by a
/// notification shortly after. Clones share the channels.
#[derive(Clone, Debug)]
pub struct CommitNotifier {
    /// To those who fan out.
    waiting: watch::Sender<()>,
    /// To other instances, some of which may have streams.
    readable: watch::Sender<()>,
    /// The payload of this instance's notifications.
    instance: Arc<str>,
}

impl Default for CommitNotifier {
    fn default() -> Self {
        Self { waiting: watch::Sender::default(), readable: watch::Sender::default(), instance: random_hex::<16>().into() }
    }
}

impl CommitNotifier {
    /// Announces that events were committed, which wait in the outbox.
    pub fn committed(&self) {
        self.waiting.send_replace(());
        self.readable.send_replace(());
    }

    /// Announces that events were committed that wait for nobody: they are fanned out.
    pub fn fanned_out(&self) {
        self.readable.send_replace(());
    }

    /// A receiver that changes whenever this instance has committed events that wait in the outbox.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.waiting.subscribe()
    }

    /// Whether a notification with this payload was sent by this instance.
    pub fn is_own(&self, payload: &str) -> bool {
        *self.instance == *payload
    }

    /// Notifies the other instances until shutdown. A notification only speeds up what polling would find, so a failed one is not
    /// repeated.
    pub async fn run(self, pool: Pool, stopping: CancellationToken) {
        let mut commits = self.readable.subscribe();
        while stopping.run_until_cancelled(commits.changed()).await.is_some() {
            sleep(NOTIFY_DELAY).await;
            commits.mark_unchanged();
            let notified = async { queries::notify(&mut pool.acquire().await?, &self.instance).await };
            if let Err(error) = notified.await {
                tracing::debug!(error = chain(&error), "other instances are not notified of new events");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fanned_out_already_wakes_nobody_here() {
        let notifier = CommitNotifier::default();
        let (here, elsewhere) = (notifier.subscribe(), notifier.readable.subscribe());
        notifier.fanned_out();
        assert_eq!([&here, &elsewhere].map(|told| told.has_changed().unwrap()), [false, true]);
        notifier.committed();
        assert_eq!([&here, &elsewhere].map(|told| told.has_changed().unwrap()), [true, true]);
    }
}
