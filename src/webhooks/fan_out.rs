//! Fan-out: an event in the outbox becomes one delivery for each subscription that wants it.

use crate::webhooks::{Webhooks, queries};

/// Events that one statement takes out of the outbox.
pub(super) const BATCH: u16 = 100;

impl Webhooks {
    /// Fans out one batch of events and tells how many there were. A disabled subscription gets none of them, then or later.
    pub async fn fan_out(&self) -> Result<u64, sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        queries::fan_out(&mut conn, BATCH, self.clock.now()).await
    }
}
