//! Fan-out: turns an event in the outbox into one delivery for each matching subscription.

mod queries;

use crate::webhooks::{Claimed, Webhooks};

/// Maximum number of events that one statement takes out of the outbox; `FIRST_BATCH` applies while the number of deliveries per
/// event is unknown.
const BATCH: u16 = 200;
pub const FIRST_BATCH: u16 = 20;
/// Target number of deliveries per statement: large enough to be cheap, small enough not to hold up other statements.
const DELIVERIES_PER_BATCH: i64 = 2_000;

#[derive(Clone, Copy, Debug)]
pub struct FannedOut {
    /// Events taken from the outbox.
    pub events: i64,
    /// Deliveries created from them.
    pub deliveries: i64,
    /// Whether any of these deliveries wait to be claimed.
    pub queued: bool,
}

impl FannedOut {
    /// The number of events to take next, assuming the same number of deliveries per event.
    pub fn next_batch(self) -> u16 {
        let of_each = self.deliveries / self.events.max(1);
        u16::try_from(DELIVERIES_PER_BATCH / of_each.max(1)).unwrap_or(BATCH).clamp(1, BATCH)
    }
}

impl Webhooks {
    /// Fans out one batch of events into waiting deliveries and returns the number of events. A disabled subscription gets none of
    /// them, neither now nor later.
    pub async fn fan_out(&self) -> Result<u64, sqlx::Error> {
        Ok(self.fan_out_batch(BATCH, 0).await?.0.events.unsigned_abs())
    }

    /// Fans out one batch of events and returns up to `limit` of their deliveries, already claimed and in flight.
    pub async fn fan_out_and_claim(&self, limit: usize) -> Result<Vec<Claimed>, sqlx::Error> {
        Ok(self.fan_out_batch(BATCH, limit).await?.1)
    }

    /// Fans out up to `events` events and claims up to `limit` of their deliveries.
    pub(crate) async fn fan_out_batch(&self, events: u16, limit: usize) -> Result<(FannedOut, Vec<Claimed>), sqlx::Error> {
        let (limit, in_flight) = (i32::try_from(limit).unwrap_or(i32::MAX), self.settings.endpoint_concurrency());
        let mut conn = self.delivery_pool.acquire().await?;
        let (fanned_out, taken) = queries::fan_out(&mut conn, events, limit, in_flight, self.clock.now()).await?;
        let claimed = self.complete(&mut conn, taken).await?;
        Ok((fanned_out, claimed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_want_an_event_the_fewer_are_fanned_out_at_once() {
        for (events, deliveries, next) in [(0, 0, 200), (200, 0, 200), (200, 2_000, 200), (10, 1_000, 20), (1, 100_000, 1)] {
            assert_eq!(FannedOut { events, deliveries, queued: false }.next_batch(), next);
        }
    }
}
