//! Fan-out: an event in the outbox becomes one delivery for each subscription that wants it.

use crate::webhooks::{Webhooks, queries};

/// Events that one statement takes out of the outbox.
pub(super) const BATCH: u16 = 200;

/// What one statement did.
#[derive(Clone, Copy, Debug)]
pub(super) struct FannedOut {
    /// Events taken.
    pub(super) events: i64,
    /// Deliveries made of them.
    pub(super) deliveries: i64,
    /// Whether any of those have to be made in order.
    pub(super) in_order: bool,
}

impl Webhooks {
    /// Fans out one batch of events and tells how many there were. A disabled subscription gets none of them, then or later.
    pub async fn fan_out(&self) -> Result<u64, sqlx::Error> {
        Ok(self.fan_out_batch().await?.events.unsigned_abs())
    }

    pub(super) async fn fan_out_batch(&self) -> Result<FannedOut, sqlx::Error> {
        let mut conn = self.engine.acquire().await?;
        queries::fan_out(&mut conn, BATCH, self.clock.now()).await
    }
}
