//! Fan-out: turns an event in the outbox into one delivery for each matching subscription.

use crate::webhooks::{Claimed, Webhooks, queries};

/// Maximum number of events that one statement takes out of the outbox; `FIRST_BATCH` applies while the number of deliveries per
/// event is unknown.
const BATCH: u16 = 200;
pub(super) const FIRST_BATCH: u16 = 20;
/// Target number of deliveries per statement: large enough to be cheap, small enough not to hold up other statements.
const DELIVERIES: i64 = 2_000;

/// The result of one fan-out statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct FannedOut {
    /// Events taken from the outbox.
    pub(super) events: i64,
    /// Deliveries created from them.
    pub(super) deliveries: i64,
    /// Whether any of these deliveries wait to be claimed.
    pub(super) queued: bool,
}

impl FannedOut {
    /// The number of events to take next, assuming the same number of deliveries per event.
    pub(super) fn next_batch(self) -> u16 {
        let of_each = self.deliveries / self.events.max(1);
        u16::try_from(DELIVERIES / of_each.max(1)).unwrap_or(BATCH).clamp(1, BATCH)
    }
}

impl Webhooks {
    /// Fans out one batch of events into waiting deliveries and returns the number of events. A disabled subscription gets none of
    /// them, neither now nor later.
    pub async fn fan_out(&self) -> Result<u64, sqlx::Error> {
        Ok(self.fan_out_and_fly(BATCH, 0).await?.0.events.unsigned_abs())
    }

    /// Fans out one batch of events and returns up to `limit` of their deliveries, already claimed and in flight.
    pub async fn fly(&self, limit: usize) -> Result<Vec<Claimed>, sqlx::Error> {
        Ok(self.fan_out_and_fly(BATCH, limit).await?.1)
    }

    /// Fans out up to `events` events and claims up to `flights` of their deliveries.
    pub(super) async fn fan_out_and_fly(&self, events: u16, flights: usize) -> Result<(FannedOut, Vec<Claimed>), sqlx::Error> {
        let (flights, in_flight) = (i32::try_from(flights).unwrap_or(i32::MAX), self.settings.endpoint_concurrency());
        let mut conn = self.mover.acquire().await?;
        let (fanned_out, taken) = queries::fan_out(&mut conn, events, flights, in_flight, self.clock.now()).await?;
        let claimed = self.complete(&mut conn, taken).await?;
        conn.keep();
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
