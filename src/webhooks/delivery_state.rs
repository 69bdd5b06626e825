//! The states of a delivery, the lanes it waits in, and the retry schedule of interface 2, as pure functions.

use chrono::{DateTime, TimeDelta, Utc};

crate::text_enum! {
    /// The state of a delivery.
    pub enum State {
        /// Waits for its first attempt, or the first attempt is in flight.
        Pending = "pending",
        /// An attempt failed; waits for the next attempt, or it is in flight.
        Retrying = "retrying",
        /// An attempt was acknowledged.
        Delivered = "delivered",
        /// All attempts failed; kept for inspection.
        Failed = "failed",
        /// Cancelled before it was acknowledged.
        Cancelled = "cancelled",
    }
}

crate::text_enum! {
    /// The states of closed deliveries that can be replayed.
    pub enum Repeatable, default Failed {
        /// Failed deliveries, except those whose event has been delivered since.
        Failed = "failed",
        /// Delivered deliveries.
        Delivered = "delivered",
        /// Cancelled deliveries.
        Cancelled = "cancelled",
    }
}

/// Where a delivery waits to be claimed. Number 2 is missing: it is for deliveries behind another one of their chain, which are
/// never claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub enum Lane {
    /// Waits for its first attempt.
    Fresh = 0,
    /// Waits for a retry.
    Again = 1,
    /// A replay that was requested; it does not wait for the circuit of the endpoint.
    Replay = 3,
}

impl Lane {
    pub const ALL: [Self; 3] = [Self::Fresh, Self::Again, Self::Replay];
}

/// How the endpoint responded to one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The endpoint accepted the event.
    Acknowledged,
    /// The endpoint did not accept the event; it may have requested a longer wait.
    Failed {
        /// The requested wait, counted from the end of the attempt.
        retry_after: Option<TimeDelta>,
    },
    /// The endpoint will never accept events again (410).
    Gone,
}

/// What happens after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// No further attempt: the event is delivered.
    Delivered,
    /// Another attempt, not before this instant.
    Retry(DateTime<Utc>),
    /// No further attempt: the delivery failed.
    Failed,
}

/// The waits before the four retries, each counted from the end of the failed attempt.
const RETRY_DELAYS: [TimeDelta; 4] = [TimeDelta::minutes(5), TimeDelta::minutes(30), TimeDelta::hours(2), TimeDelta::hours(8)];
/// The longest wait an endpoint can request. An endpoint can lengthen a scheduled wait, but not beyond this.
const MAX_RETRY_DELAY: TimeDelta = TimeDelta::hours(8);
/// The longest time that an endpoint can request to be left alone by all deliveries.
pub const MAX_SILENCE: TimeDelta = TimeDelta::hours(1);

/// The duration of a lease. It is longer than the longest attempt plus the recording of its result, so only a worker that died
/// loses its lease.
pub const LEASE: TimeDelta = TimeDelta::seconds(60);
/// How far apart two readings of the database's clock may seem. A lease that begins further in the future than this was taken before
/// that clock was set back.
pub const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);
/// Attempts of one delivery lost in crashes after which the delivery fails. A delivery that crashes its worker must not do so
/// forever, and a delivery that was in flight during a power failure must not lose a retry.
pub const MAX_INTERRUPTIONS: i16 = 5;

/// Decides what happens after an attempt that ended at `ended_at`, when `failures` attempts failed before it.
pub fn next(failures: i16, verdict: Verdict, ended_at: DateTime<Utc>) -> Next {
    match verdict {
        Verdict::Acknowledged => Next::Delivered,
        Verdict::Gone => Next::Failed,
        Verdict::Failed { retry_after } => match usize::try_from(failures).ok().and_then(|failures| RETRY_DELAYS.get(failures)) {
            Some(wait) => Next::Retry(ended_at + retry_after.unwrap_or(*wait).clamp(*wait, MAX_RETRY_DELAY)),
            None => Next::Failed,
        },
    }
}

/// The end of the silence that an endpoint asks for with this response to an attempt that ended at `ended_at`. It is a silence of all its
/// deliveries, because an overloaded endpoint does not mean one event alone.
pub fn silent_until(verdict: Verdict, ended_at: DateTime<Utc>) -> Option<DateTime<Utc>> {
    match verdict {
        Verdict::Failed { retry_after: Some(wait) } if wait > TimeDelta::zero() => Some(ended_at + wait.min(MAX_SILENCE)),
        Verdict::Failed { .. } | Verdict::Acknowledged | Verdict::Gone => None,
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
        for (failures, retry_after, waits) in [
            (0, TimeDelta::seconds(1), TimeDelta::minutes(5)),
            (0, TimeDelta::minutes(20), TimeDelta::minutes(20)),
            (1, TimeDelta::minutes(20), TimeDelta::minutes(30)),
            (2, TimeDelta::days(30), TimeDelta::hours(8)),
            (3, TimeDelta::days(30), TimeDelta::hours(8)),
            (0, TimeDelta::seconds(-1), TimeDelta::minutes(5)),
        ] {
            assert_eq!(next(failures, Verdict::Failed { retry_after: Some(retry_after) }, noon()), Next::Retry(noon() + waits));
        }
        assert_eq!(next(4, Verdict::Failed { retry_after: Some(TimeDelta::hours(1)) }, noon()), Next::Failed);
    }

    #[test]
    fn an_endpoint_that_names_a_wait_is_left_alone_for_it_and_for_an_hour_at_most() {
        for (retry_after, silence) in [
            (TimeDelta::seconds(1), Some(TimeDelta::seconds(1))),
            (TimeDelta::minutes(20), Some(TimeDelta::minutes(20))),
            (TimeDelta::days(30), Some(TimeDelta::hours(1))),
            (TimeDelta::zero(), None),
            (TimeDelta::seconds(-1), None),
        ] {
            let verdict = Verdict::Failed { retry_after: Some(retry_after) };
            assert_eq!(silent_until(verdict, noon()), silence.map(|silence| noon() + silence), "{retry_after}");
        }
        for verdict in [REFUSED, Verdict::Acknowledged, Verdict::Gone] {
            assert_eq!(silent_until(verdict, noon()), None);
        }
    }
}
