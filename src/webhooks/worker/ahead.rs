//! Ahead: deliveries that are claimed before a place at their endpoint is free, so that a request that ends begins the next one without
//! the database.
//!
//! An endpoint with a backlog that answers quickly would mostly wait for the statement that records its attempts and claims its next ones.
//! So it has more deliveries in flight than it may have at once, and they stand in line here. *Places* keep the limit: a delivery that is
//! claimed while the endpoint has fewer in flight than it may have brings one along, and one from the line begins only in a place that
//! another has left. All instances count what stands in line as in flight, so they together have no more places than the endpoint may
//! have deliveries at once.
//!
//! Whoever waits longer than [`LONGEST_WAIT`] or for an endpoint that has failed goes back to the queue, and nobody stays when the
//! program ends.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::kernel::ids::SubscriptionId;
use crate::webhooks::Claimed;
use crate::webhooks::permits::Permit;

/// How many times as many deliveries an endpoint has in flight at most as it may have at once.
pub const TIMES: i32 = 4;
/// How long a delivery stands in line.
pub const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A claimed delivery, and the permit that it holds.
pub type Permitted = (Claimed, Permit);

/// The lines of deliveries `D`, by endpoint.
#[derive(Debug)]
pub struct Ahead<D = Permitted>(Mutex<HashMap<SubscriptionId, Line<D>>>);

/// What waits for an endpoint.
#[derive(Debug)]
struct Line<D> {
    /// Each with the instant since when it has stood here.
    standing: VecDeque<(Instant, D)>,
    /// Attempts that have ended and are not recorded.
    unrecorded: usize,
    /// Of these, those that left a place that nobody has taken.
    places: usize,
}

impl<D> Default for Ahead<D> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<D> Default for Line<D> {
    fn default() -> Self {
        Self { standing: VecDeque::new(), unrecorded: 0, places: 0 }
    }
}

impl<D> Ahead<D> {
    /// An attempt has ended well, and leaves its place to the delivery that is returned.
    pub fn ended(&self, endpoint: SubscriptionId) -> Option<D> {
        let mut lines = self.lines();
        let line = lines.entry(endpoint).or_default();
        line.unrecorded += 1;
        let next = line.standing.pop_front().map(|(_, next)| next);
        line.places += usize::from(next.is_none());
        next
    }

    /// An attempt has failed. Who stands in line leaves it.
    pub fn failed(&self, endpoint: SubscriptionId) -> Vec<D> {
        let mut lines = self.lines();
        let line = lines.entry(endpoint).or_default();
        line.unrecorded += 1;
        line.places += 1;
        line.leave(|_| true)
    }

    /// Attempts to the endpoint are recorded, and others claimed with them. Returns those of `claimed` that begin at once; the others stand in
    /// line. The places that are left over are given up.
    pub fn recorded(&self, endpoint: SubscriptionId, attempts: usize, mut claimed: Vec<D>, now: Instant) -> Vec<D> {
        let mut lines = self.lines();
        let line = lines.entry(endpoint).or_default();
        let standing = claimed.split_off(line.places.min(claimed.len()));
        line.standing.extend(standing.into_iter().map(|delivery| (now, delivery)));
        line.unrecorded -= attempts;
        line.places = (line.places - claimed.len()).min(line.unrecorded);
        if line.unrecorded == 0 && line.standing.is_empty() {
            lines.remove(&endpoint);
        }
        claimed
    }

    /// Takes out of the lines whoever has stood there for at least this long.
    pub fn leave_after(&self, wait: Duration, now: Instant) -> Vec<D> {
        self.lines().values_mut().flat_map(|line| line.leave(|since| now.saturating_duration_since(since) >= wait)).collect()
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<SubscriptionId, Line<D>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D> Line<D> {
    fn leave(&mut self, when: impl Fn(Instant) -> bool) -> Vec<D> {
        let (leave, stay) = mem::take(&mut self.standing).into_iter().partition::<VecDeque<_>, _>(|(since, _)| when(*since));
        self.standing = stay;
        leave.into_iter().map(|(_, delivery)| delivery).collect()
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn endpoint() -> SubscriptionId {
        SubscriptionId::new(DateTime::UNIX_EPOCH)
    }

    #[test]
    fn a_delivery_begins_in_a_place_that_another_has_left_and_in_no_other() {
        let (ahead, endpoint, now) = (Ahead::<u8>::default(), endpoint(), Instant::now());
        assert_eq!([ahead.ended(endpoint), ahead.ended(endpoint)], [None, None], "two places are left");
        assert_eq!(ahead.recorded(endpoint, 2, vec![1, 2, 3, 4], now), [1, 2], "and taken; the others stand in line");
        assert_eq!([ahead.ended(endpoint), ahead.ended(endpoint), ahead.ended(endpoint)], [Some(3), Some(4), None]);
        assert_eq!(ahead.recorded(endpoint, 2, vec![5, 6], now), [5], "the place of one that is not recorded yet");
        assert_eq!(ahead.recorded(endpoint, 1, Vec::new(), now), [0; 0]);
        assert_eq!(ahead.ended(endpoint), Some(6));
        assert_eq!(ahead.recorded(endpoint, 1, Vec::new(), now), [0; 0]);
        assert!(ahead.lines().is_empty());
    }

    #[test]
    fn a_place_that_nobody_takes_is_given_up_when_its_attempt_is_recorded() {
        let (ahead, endpoint, now) = (Ahead::<u8>::default(), endpoint(), Instant::now());
        assert_eq!([ahead.ended(endpoint), ahead.ended(endpoint)], [None, None]);
        assert_eq!(ahead.recorded(endpoint, 1, Vec::new(), now), [0; 0]);
        assert_eq!(ahead.recorded(endpoint, 1, vec![1, 2], now), [1]);
    }

    #[test]
    fn nobody_stands_in_line_for_an_endpoint_that_fails_or_for_long() {
        let (ahead, endpoint, now) = (Ahead::<u8>::default(), endpoint(), Instant::now());
        assert_eq!(ahead.ended(endpoint), None);
        assert_eq!(ahead.recorded(endpoint, 1, vec![1, 2, 3], now), [1]);
        assert_eq!(ahead.leave_after(LONGEST_WAIT, now + LONGEST_WAIT / 2), [0; 0]);
        assert_eq!(ahead.leave_after(LONGEST_WAIT, now + LONGEST_WAIT), [2, 3]);
        assert_eq!(ahead.ended(endpoint), None);
        assert_eq!(ahead.recorded(endpoint, 1, vec![4, 5, 6], now), [4]);
        assert_eq!(ahead.failed(endpoint), [5, 6]);
        assert_eq!(ahead.recorded(endpoint, 1, Vec::new(), now), [0; 0]);
        assert!(ahead.lines().is_empty());
    }
}
