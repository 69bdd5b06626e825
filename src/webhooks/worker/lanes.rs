//! The state that the dispatcher keeps for each lane: whether a claim from it is worth a statement.
//!
//! A lane is *open* while deliveries may be waiting in it that can be claimed now. Four things open a lane: a fan-out that queues
//! deliveries; a webhook that is resumed; the end of a delivery to an endpoint at its in-flight limit, or of one that others wait behind; and the instant at
//! which a held-back endpoint can go on. A lane from which more would be claimed if more permits were free opens when more are than after
//! the last claim. A claim that finds nothing left closes the lane. Every poll interval opens all lanes,
//! because retries become due without a signal, and deliveries that end in other instances send none either.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::ids::SubscriptionId;
use crate::webhooks::delivery_state::Lane;
use crate::webhooks::engine::claim::{ClaimSummary, beginning};

/// The wait before the next endpoints are examined when all endpoints that one claim examined were held back.
const NEXT_LOOK_DELAY: TimeDelta = TimeDelta::milliseconds(50);

#[derive(Debug)]
pub struct LaneState {
    open: bool,
    /// The endpoint behind which the next claim begins.
    pub after: SubscriptionId,
    /// The endpoints for which more deliveries may be waiting until one in flight has ended.
    crowded: HashSet<SubscriptionId>,
    /// More can be claimed when more permits are free than these.
    short_at: Option<usize>,
    /// When an endpoint that was held back can go on.
    resumes_at: Option<DateTime<Utc>>,
}

impl LaneState {
    pub fn new() -> Self {
        Self { open: true, after: beginning(), crowded: HashSet::new(), short_at: None, resumes_at: None }
    }

    /// Opens the lane: deliveries have entered it, or may have.
    pub fn open(&mut self) {
        self.open = true;
    }

    /// Opens the lane if deliveries to a crowded endpoint have ended, or if permits were short and more of them are `free`.
    pub fn note_ended(&mut self, endpoints: &HashSet<SubscriptionId>, free: usize) {
        let before = self.crowded.len();
        self.crowded.retain(|endpoint| !endpoints.contains(endpoint));
        self.open |= self.crowded.len() < before || self.short_at.is_some_and(|short_at| free > short_at);
    }

    pub fn is_open(&mut self, now: DateTime<Utc>) -> bool {
        self.open |= self.resumes_at.take_if(|at| *at <= now).is_some();
        self.open
    }

    /// Updates the state after a claim that took `taken` deliveries at `now` and left `free` permits; returns whether the next claim should
    /// follow at once.
    pub fn learn(&mut self, summary: ClaimSummary, taken: usize, free: usize, now: DateTime<Utc>) -> bool {
        let all_blocked = summary.unseen && taken == 0 && !summary.held;
        let look_on = all_blocked.then(|| now + NEXT_LOOK_DELAY);
        let goes_on = summary.more || summary.missed || summary.held || (summary.unseen && !all_blocked);
        self.open = goes_on;
        self.after = summary.last.unwrap_or_else(beginning);
        self.crowded.extend(summary.crowded);
        self.short_at = summary.short.then_some(free);
        self.resumes_at = self.resumes_at.into_iter().chain(summary.resumes_at).chain(look_on).min();
        goes_on
    }

    /// Whether something may be claimed once more permits are free. Asked when no claim follows at once: a lane that is open then has found
    /// none. Nobody tells when those are released that another cell has held, or a statement that found nothing.
    pub fn waits_for_permits(&self) -> bool {
        self.open || self.short_at.is_some()
    }

    /// When the lane opens by itself.
    pub fn resumes_at(&self) -> Option<DateTime<Utc>> {
        self.resumes_at
    }
}

/// The endpoints that can be refilled: first attempts wait for them, but neither retries nor replays, and nothing else waits for
/// permits.
pub fn refillable(lanes: &[LaneState; Lane::ALL.len()]) -> HashSet<SubscriptionId> {
    if lanes.iter().any(|lane| lane.open) {
        return HashSet::new();
    }
    let [fresh, repetitions @ ..] = lanes;
    let waits_again = |endpoint| repetitions.iter().any(|lane| lane.crowded.contains(endpoint));
    fresh.crowded.iter().filter(|endpoint| !waits_again(endpoint)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: usize = 100;

    fn summary() -> ClaimSummary {
        ClaimSummary::default()
    }

    fn noon() -> DateTime<Utc> {
        "2026-05-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_claim_that_finds_nothing_left_closes_the_lane() {
        let mut lane = LaneState::new();
        assert!(lane.is_open(noon()));
        assert!(lane.learn(ClaimSummary { more: true, ..summary() }, 100, FREE, noon()) && lane.is_open(noon()));
        assert!(!lane.learn(summary(), 3, FREE, noon()) && !lane.is_open(noon()));
        lane.open();
        assert!(lane.is_open(noon()));
    }

    #[test]
    fn the_end_of_a_delivery_opens_it_for_the_endpoints_that_had_all_they_may_have() {
        let (crowded, other) = (SubscriptionId::new(noon()), SubscriptionId::new(noon()));
        let mut lane = LaneState::new();
        lane.learn(ClaimSummary { crowded: vec![crowded], ..summary() }, 20, FREE, noon());
        lane.note_ended(&HashSet::from([other]), FREE);
        assert!(!lane.is_open(noon()));
        lane.note_ended(&HashSet::from([other, crowded]), FREE);
        assert!(lane.is_open(noon()));
    }

    #[test]
    fn while_permits_are_short_it_opens_when_more_are_free() {
        let mut lane = LaneState::new();
        lane.learn(ClaimSummary { short: true, ..summary() }, 20, 10, noon());
        lane.note_ended(&HashSet::from([SubscriptionId::new(noon())]), 10);
        assert!(!lane.is_open(noon()), "another has taken what the ended one had");
        assert!(lane.waits_for_permits());
        lane.note_ended(&HashSet::new(), 11);
        assert!(lane.is_open(noon()));
        assert!(lane.waits_for_permits(), "if it has found none");
        lane.learn(summary(), 1, 10, noon());
        assert!(!lane.waits_for_permits());
    }

    #[test]
    fn an_endpoint_that_is_held_back_resumes_in_time_whatever_is_claimed_meanwhile() {
        let mut lane = LaneState::new();
        let later = noon() + TimeDelta::seconds(1);
        lane.learn(ClaimSummary { resumes_at: Some(later), ..summary() }, 0, FREE, noon());
        lane.learn(summary(), 1, FREE, noon());
        assert_eq!((lane.is_open(noon()), lane.resumes_at()), (false, Some(later)));
        assert!(lane.is_open(later));
        assert_eq!(lane.resumes_at(), None);
    }

    #[test]
    fn when_all_examined_endpoints_are_held_back_the_next_ones_are_examined_soon() {
        let mut lane = LaneState::new();
        assert!(
            lane.learn(ClaimSummary { unseen: true, ..summary() }, 1, FREE, noon()),
            "continues at once while deliveries can be claimed"
        );
        assert!(!lane.learn(ClaimSummary { unseen: true, ..summary() }, 0, FREE, noon()));
        assert!(!lane.is_open(noon()) && lane.is_open(noon() + NEXT_LOOK_DELAY));
    }

    #[test]
    fn what_waits_behind_open_circuits_is_put_aside_at_once() {
        let mut lane = LaneState::new();
        assert!(lane.learn(ClaimSummary { held: true, ..summary() }, 0, FREE, noon()) && lane.is_open(noon()));
    }

    #[test]
    fn endpoints_are_refilled_while_only_first_attempts_to_them_wait() {
        let [one, other] = [(); 2].map(|()| SubscriptionId::new(noon()));
        let mut lanes = Lane::ALL.map(|_| LaneState::new());
        let mut learn = |lane: usize, more, crowded: &[SubscriptionId]| {
            lanes[lane].learn(ClaimSummary { more, crowded: crowded.to_vec(), ..summary() }, 1, FREE, noon());
            refillable(&lanes)
        };
        assert_eq!(learn(0, false, &[one, other]), HashSet::new(), "the other lanes are open");
        learn(1, false, &[]);
        assert_eq!(learn(2, false, &[]), HashSet::from([one, other]));
        assert_eq!(learn(1, false, &[other]), HashSet::from([one]), "a retry waits for the other endpoint");
        assert_eq!(learn(0, true, &[]), HashSet::new(), "deliveries to a third endpoint wait for permits");
    }
}
