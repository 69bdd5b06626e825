//! Tasks that work in rounds: one after the other while there is more to do, and then whenever one is woken or its time comes.

use std::future::Future;

use tokio::time::{Instant, sleep_until};

use crate::kernel::error_chain::chain;
use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::progress::Mark;
use crate::webhooks::worker::RETRY_DELAY;

pub trait Rounds: Send {
    /// Does one round and returns whether there may be more to do at once.
    fn round(&mut self) -> impl Future<Output = Result<bool, sqlx::Error>> + Send;

    /// When to begin the next round if nothing wakes the task.
    fn next_round(&self) -> Instant;

    /// A round failed; the next one has to repeat its work.
    fn failed(&mut self);

    /// Waits for what wakes the task.
    fn woken(&mut self) -> impl Future<Output = ()> + Send;
}

/// Runs the rounds of `task` until the program stops.
pub async fn run(mut task: impl Rounds, lifecycle: Lifecycle, progress: Mark) {
    while !lifecycle.stopping().is_cancelled() {
        let wait_until = match task.round().await {
            Ok(more) => {
                progress.round();
                if more {
                    continue;
                }
                task.next_round()
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "the webhook worker is waiting for the database");
                task.failed();
                Instant::now() + RETRY_DELAY
            }
        };
        tokio::select! {
            () = lifecycle.stopping().cancelled() => {}
            () = task.woken() => {}
            () = sleep_until(wait_until) => {}
        }
    }
}
