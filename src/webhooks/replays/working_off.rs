//! Working off replays of many deliveries, a batch each round.

use crate::webhooks::Webhooks;
use crate::webhooks::replays::queries;

/// Deliveries made at once. With a round a second, a large replay fills the queue no faster than it empties.
const BATCH: i64 = 1000;

impl Webhooks {
    /// Makes the next batch of the oldest replay that nobody else works on. Answers whether there was one.
    pub async fn work_off_replay(&self) -> Result<bool, sqlx::Error> {
        let now = self.clock.now();
        let mut transaction = self.engine.begin().await?;
        let Some(replay) = queries::lock_replay(&mut transaction).await? else { return Ok(false) };
        let batch = queries::repeat_batch(&mut transaction, &replay, BATCH, now).await?;
        queries::note_progress(&mut transaction, &replay, &batch, batch.made < BATCH, now).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
