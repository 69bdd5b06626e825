//! What is counted and measured of attempts, deliveries and permits.

use std::sync::Arc;

use crate::kernel::metrics::{Counter, Family, Histogram, Kind, Registry, durations};
use crate::webhooks::delivery_state::State;
use crate::webhooks::permits::Permits;
use crate::webhooks::sending::Attempt;
use crate::webhooks::sending::fault::Fault;

crate::labels! {
    /// Of an attempt.
    pub struct AttemptLabels {
        /// The class of the status of the response, such as `2xx`, or without a response the word of the delivery log for what went wrong.
        pub outcome: &'static str,
    }
}

crate::labels! {
    /// Of a delivery after an attempt.
    pub struct StateLabels {
        /// `delivered`, `retrying` or `failed`.
        pub state: &'static str,
    }
}

crate::labels! {
    /// Of permits for deliveries in flight.
    pub struct PermitLabels {
        /// `taken` or `free`.
        pub state: &'static str,
    }
}

/// What an attempt without a response and without a fault is counted as.
const UNKNOWN: &str = "unknown";
/// The classes of statuses.
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];
/// The states that follow from an attempt.
const AFTER_AN_ATTEMPT: [State; 3] = [State::Delivered, State::Retrying, State::Failed];

/// The hub's counters. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    attempts: Family<AttemptLabels, Counter>,
    took: Histogram,
    states: Family<StateLabels, Counter>,
}

impl Metrics {
    pub fn new() -> Self {
        Self { attempts: Family::default(), took: durations(), states: Family::default() }
    }

    pub fn register(&self, registry: &mut Registry, permits: &Arc<Permits>, all: usize) {
        let outcomes = CLASSES.into_iter().chain(Fault::WORDS).chain([UNKNOWN]).map(|outcome| AttemptLabels { outcome });
        registry.counters("portico_webhook_attempts", "Attempts that this instance has made and recorded", &self.attempts, outcomes);
        registry.register("portico_webhook_attempt_seconds", "Time of an attempt", &self.took);
        let states = AFTER_AN_ATTEMPT.map(|state| StateLabels { state: state.as_str() });
        registry.counters("portico_webhook_deliveries", "Deliveries after an attempt, by the state that followed", &self.states, states);
        let permits = Arc::clone(permits);
        let by_state = move || {
            let free = permits.free();
            [("taken", all.saturating_sub(free)), ("free", free)].map(|(state, count)| (PermitLabels { state }, count as f64)).to_vec()
        };
        registry.read("portico_webhook_permits", "Permits of this instance for deliveries in flight", Kind::Gauge, by_state);
    }

    /// Counts an attempt that was recorded, and the state that followed from it.
    pub fn recorded(&self, attempt: &Attempt, state: State) {
        self.attempts.get_or_create(&AttemptLabels { outcome: outcome(attempt) }).inc();
        self.took.observe(attempt.took.as_secs_f64());
        self.states.get_or_create(&StateLabels { state: state.as_str() }).inc();
    }
}

fn outcome(attempt: &Attempt) -> &'static str {
    match (&attempt.outcome.answer, attempt.outcome.fault) {
        (Some(answer), _) => match answer.status.as_u16() {
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            _ => "5xx",
        },
        (None, Some(fault)) => fault.as_str(),
        (None, None) => UNKNOWN,
    }
}
