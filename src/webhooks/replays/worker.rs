//! Works off replays of many deliveries, one batch of each per second.

use std::time::Duration;

use crate::kernel::error_chain::chain;
use crate::kernel::ids::ReplayId;
use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::Webhooks;
use crate::webhooks::engine::repeat;
use crate::webhooks::replays::queries;

/// Number of deliveries per batch. With one batch per second, a large replay does not fill the queue faster than it empties.
const BATCH: i64 = 1000;
/// The interval between batches.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl Webhooks {
    /// Creates the next batch of each replay that no other instance is working on, so no replay waits for another. Returns whether
    /// there was any.
    pub async fn continue_replays(&self) -> Result<bool, sqlx::Error> {
        let replays = queries::find_unfinished(&mut self.worker_pool.acquire().await?).await?;
        let mut any = false;
        for replay in replays {
            match self.create_next_batch(replay).await {
                Ok(made) => any |= made,
                Err(error) => tracing::warn!(%replay, error = chain(&error), "a replay could not be continued; retrying in a second"),
            }
        }
        Ok(any)
    }

    /// Creates the next batch of a replay; returns false if it is finished or another instance is working on it.
    async fn create_next_batch(&self, replay: ReplayId) -> Result<bool, sqlx::Error> {
        let now = self.clock.now();
        let mut transaction = self.worker_pool.begin().await?;
        let Some(replay) = queries::lock_replay(&mut transaction, replay).await? else { return Ok(false) };
        let batch = repeat::repeat_batch(&mut transaction, &replay.remaining, BATCH, now).await?;
        queries::record_progress(&mut transaction, &replay, &batch, batch.made < BATCH, now).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

/// Works off replays as long as the program runs.
pub async fn run(webhooks: Webhooks, lifecycle: Lifecycle) {
    lifecycle.every(POLL_INTERVAL, "replays could not be read", || webhooks.continue_replays()).await;
}
