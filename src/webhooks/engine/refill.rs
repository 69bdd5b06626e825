//! Refilling: the statement that records attempts also claims the next deliveries to the same endpoints.
//!
//! An endpoint with a backlog has as many deliveries in flight as it may have, and each that ends makes room for one. Claiming them
//! when the ended ones are recorded saves a statement, its round trip and its lock on the endpoint.
//!
//! An endpoint is refilled only while all lanes are closed and more deliveries wait for it in the lane of first attempts alone.
//! Nothing else waits for its permits then. Nor is it refilled beyond its share of the permits, or when its company has more than its own.
//!
//! One that answers quickly gets deliveries for later as well: the worker sends them one by one as others end
//! ([`ahead`](crate::webhooks::worker)), and never more of them at once than the endpoint may have.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::ids::SubscriptionId;

/// How long cursors are kept. A delivery that is queued with an earlier time than the cursor of its endpoint waits this long at most.
const CURSOR_LIFETIME: Duration = Duration::from_secs(1);

/// The endpoints to refill, by column, as the recording statement takes them.
#[derive(Debug, Default)]
pub struct Refill {
    pub subscriptions: Vec<Uuid>,
    /// No delivery waits that is due before this time. The search in the index begins there.
    pub due_from: Vec<DateTime<Utc>>,
    /// Maximum number of deliveries to claim.
    pub most: Vec<i32>,
    /// Maximum number of deliveries in flight to the endpoint, those for later included.
    pub in_flight: Vec<i32>,
}

impl Refill {
    /// Whether no endpoint is refilled.
    pub fn is_empty(&self) -> bool {
        self.subscriptions.is_empty()
    }
}

/// How far one endpoint is refilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Maximum number of deliveries to claim.
    pub most: usize,
    /// Maximum number of deliveries in flight, those for later included.
    pub in_flight: i32,
}

/// Up to where the deliveries that wait for each endpoint have been claimed. Until the next vacuum, a search without this cursor
/// reads the index entries of all that were claimed before.
#[derive(Debug)]
pub struct Cursors {
    claimed_until: HashMap<SubscriptionId, DateTime<Utc>>,
    expires_at: Instant,
}

impl Cursors {
    pub fn new(now: Instant) -> Self {
        Self { claimed_until: HashMap::new(), expires_at: now + CURSOR_LIFETIME }
    }

    /// The refill of `endpoints`.
    pub fn refill(&mut self, endpoints: impl IntoIterator<Item = (SubscriptionId, Room)>, now: Instant) -> Refill {
        if now >= self.expires_at {
            self.claimed_until.clear();
            self.expires_at = now + CURSOR_LIFETIME;
        }
        let mut refill = Refill::default();
        for (endpoint, room) in endpoints {
            refill.subscriptions.push(endpoint.uuid());
            refill.due_from.push(self.claimed_until.get(&endpoint).copied().unwrap_or(DateTime::UNIX_EPOCH));
            refill.most.push(i32::try_from(room.most).unwrap_or(i32::MAX));
            refill.in_flight.push(room.in_flight);
        }
        refill
    }

    /// Notes that a delivery that was due at this time was claimed.
    pub fn advance(&mut self, endpoint: SubscriptionId, due_at: DateTime<Utc>) {
        let claimed_until = self.claimed_until.entry(endpoint).or_insert(due_at);
        *claimed_until = due_at.max(*claimed_until);
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn a_search_begins_where_the_last_one_ended_for_a_second() {
        let (noon, now): (DateTime<Utc>, _) = ("2026-05-21T12:00:00Z".parse().unwrap(), Instant::now());
        let (one, other) = (SubscriptionId::new(noon), SubscriptionId::new(noon));
        let mut cursors = Cursors::new(now);
        for seconds in [2, 3, 1] {
            cursors.advance(one, noon + TimeDelta::seconds(seconds));
        }
        let both = [one, other].map(|endpoint| (endpoint, Room { most: 1, in_flight: 50 }));
        assert_eq!(cursors.refill(both, now).due_from, [noon + TimeDelta::seconds(3), DateTime::UNIX_EPOCH]);
        assert!(!cursors.refill(both, now).is_empty() && cursors.refill([], now).is_empty());
        assert_eq!(cursors.refill(both, now + CURSOR_LIFETIME).due_from, [DateTime::UNIX_EPOCH; 2]);
    }
}
