//! The heart: gives signs of life of this worker, so that the others leave alone what it has in flight.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::kernel::error_chain::chain;
use crate::webhooks::Webhooks;

/// The time between two beats.
const INTERVAL: Duration = Duration::from_secs(2);
/// How long writing one down may take. A connection that the network has swallowed must not keep the next one from being written.
const TIME: Duration = Duration::from_secs(2);

/// Beats while `work` is done.
pub async fn beat_during(webhooks: Webhooks, work: impl Future<Output = ()>) {
    let beating = async {
        loop {
            beat(&webhooks).await;
            sleep(INTERVAL).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = beating => {}
    }
}

async fn beat(webhooks: &Webhooks) {
    match timeout(TIME, webhooks.beat()).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => tracing::debug!(error = chain(&error), "this worker could not give a sign of life"),
        Err(_) => tracing::debug!("this worker could not give a sign of life in time"),
    }
    webhooks.colleagues.look_away();
}
