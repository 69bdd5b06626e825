//! The heartbeat of this worker: while it goes on, other workers leave its deliveries in flight alone. When it ends, they take them over.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::SetOnce;
use tokio::time::{sleep, timeout};

use crate::kernel::error_chain::chain;
use crate::webhooks::Webhooks;
use crate::webhooks::worker::RETRY_DELAY;

/// The time between two beats.
const INTERVAL: Duration = Duration::from_secs(2);
/// How long writing one down may take. A connection that the network has swallowed must not keep the next one from being written.
const TIME: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub struct Heart {
    first_beat: SetOnce<()>,
}

impl Heart {
    /// Beats while `work` is done.
    pub async fn beat_during(self: Arc<Self>, webhooks: Webhooks, work: impl Future<Output = ()>) {
        let beating = async {
            while !beat(&webhooks).await {
                tracing::warn!("the webhook worker is waiting for the database");
                sleep(RETRY_DELAY).await;
            }
            self.first_beat.set(()).expect("there is one first beat");
            loop {
                sleep(INTERVAL).await;
                beat(&webhooks).await;
            }
        };
        tokio::select! {
            () = work => {}
            () = beating => {}
        }
    }

    /// Returns as soon as the first beat is written down.
    pub async fn beats(&self) {
        self.first_beat.wait().await;
    }
}

/// Whether a beat could be written down.
async fn beat(webhooks: &Webhooks) -> bool {
    match timeout(TIME, webhooks.beat()).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => tracing::debug!(error = chain(&error), "this worker could not give a sign of life"),
        Err(_) => tracing::debug!("this worker could not give a sign of life in time"),
    }
    webhooks.colleagues.look_away();
    false
}
