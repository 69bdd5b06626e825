//! What becomes of a delivery: its states and the schedule of interface 2, as pure functions.

use chrono::{DateTime, TimeDelta, Utc};

crate::words! {
    /// How a delivery stands.
    pub enum State {
        /// Waits for its first attempt, or is in it.
        Pending = "pending",
        /// An attempt failed; waits for the next one, or is in it.
        Retrying = "retrying",
        /// Acknowledged.
        Delivered = "delivered",
        /// Given up; kept for inspection.
        Failed = "failed",
        /// Called off before it was acknowledged.
        Cancelled = "cancelled",
    }
}

impl State {
    /// Whether something is still to come.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Retrying)
    }
}

/// What the endpoint made of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It took the event.
    Acknowledged,
    /// It did not, and may have asked for patience.
    Failed {
        /// The wait it asked for, from the end of the attempt.
        retry_after: Option<TimeDelta>,
    },
    /// It says that it will never take an event again.
    Gone,
}

/// What comes after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: the event has arrived.
    Delivered,
    /// Another attempt, not before this instant.
    Retry(DateTime<Utc>),
    /// Nothing: the event stays undelivered.
    Failed,
}

/// The waits before the four retries, each counted from the end of the failed attempt.
const WAITS: [TimeDelta; 4] = [TimeDelta::minutes(5), TimeDelta::minutes(30), TimeDelta::hours(2), TimeDelta::hours(8)];
/// An endpoint can ask for more patience than the schedule has, but not for more than this.
const LONGEST_WAIT: TimeDelta = TimeDelta::hours(8);

/// How long a claim holds. It is longer than the longest attempt and the writing down of its result, so that only a worker that died
/// loses one.
pub(super) const LEASE: TimeDelta = TimeDelta::seconds(60);
/// No instance's clock is further ahead of another's. A lease that begins later than that was taken before the clock was set back.
pub(super) const CLOCKS_APART: TimeDelta = TimeDelta::minutes(5);
/// Attempts of one delivery that may be lost in crashes before it is given up: a delivery that brings its worker down must not do so
/// for ever, and one that was in flight when somebody pulled the plug must not lose a retry by it.
pub(super) const INTERRUPTIONS: i16 = 5;

/// What comes after an attempt that ended at `ended_at`, when `failures` attempts had failed before it.
pub(super) fn next(failures: i16, verdict: Verdict, ended_at: DateTime<Utc>) -> Next {
    match verdict {
        Verdict::Acknowledged => Next::Delivered,
        Verdict::Gone => Next::Failed,
        Verdict::Failed { retry_after } => match usize::try_from(failures).ok().and_then(|failures| WAITS.get(failures)) {
            Some(wait) => Next::Retry(ended_at + retry_after.unwrap_or(*wait).clamp(*wait, LONGEST_WAIT)),
            None => Next::Failed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: Verdict = Verdict::Failed { retry_after: None };

    fn noon() -> DateTime<Utc> {
        "2026-05-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn the_table_of_the_interface() {
        for (failures, next_one) in [
            (0, Next::Retry(noon() + TimeDelta::minutes(5))),
            (1, Next::Retry(noon() + TimeDelta::minutes(30))),
            (2, Next::Retry(noon() + TimeDelta::hours(2))),
            (3, Next::Retry(noon() + TimeDelta::hours(8))),
            (4, Next::Failed),
        ] {
            assert_eq!(next(failures, REFUSED, noon()), next_one, "after {failures} failures");
            assert_eq!(next(failures, Verdict::Acknowledged, noon()), Next::Delivered);
            assert_eq!(next(failures, Verdict::Gone, noon()), Next::Failed);
        }
    }

    #[test]
    fn an_endpoint_can_lengthen_a_wait_up_to_eight_hours_and_never_shorten_it() {
        for (failures, asked, waits) in [
            (0, TimeDelta::seconds(1), TimeDelta::minutes(5)),
            (0, TimeDelta::minutes(20), TimeDelta::minutes(20)),
            (1, TimeDelta::minutes(20), TimeDelta::minutes(30)),
            (2, TimeDelta::days(30), TimeDelta::hours(8)),
            (3, TimeDelta::days(30), TimeDelta::hours(8)),
            (0, TimeDelta::seconds(-1), TimeDelta::minutes(5)),
        ] {
            assert_eq!(next(failures, Verdict::Failed { retry_after: Some(asked) }, noon()), Next::Retry(noon() + waits));
        }
        assert_eq!(next(4, Verdict::Failed { retry_after: Some(TimeDelta::hours(1)) }, noon()), Next::Failed);
    }
}
