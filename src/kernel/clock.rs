//! The time, as an argument: the system's in production, one that tests move by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

/// Tells the time. Cheap to clone; clones of a moved clock move together.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The system's clock.
    System,
    /// Stands still until [`Clock::advance`] moves it (microseconds since 1970).
    Moved(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `start` until it is moved.
    pub fn standing_at(start: DateTime<Utc>) -> Self {
        Self::Moved(Arc::new(AtomicI64::new(start.timestamp_micros())))
    }

    /// The time now, in whole microseconds: what Postgres keeps, so that a value read back equals the one written.
    pub fn now(&self) -> DateTime<Utc> {
        let micros = match self {
            #[expect(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
            Self::System => Utc::now().timestamp_micros(),
            Self::Moved(micros) => micros.load(Ordering::SeqCst),
        };
        DateTime::from_timestamp_micros(micros).expect("the years chrono can tell outlast this program")
    }

    /// Moves a clock made by [`Clock::standing_at`]; the system's clock stays as it is.
    pub fn advance(&self, by: TimeDelta) {
        if let Self::Moved(micros) = self {
            let by = by.num_microseconds().expect("nobody moves a clock by 290,000 years");
            micros.fetch_add(by, Ordering::SeqCst);
        }
    }
}

/// Writes an instant as every answer and event shows it: `2026-05-21T10:15:00.000+00:00` (decisions, section 1).
pub fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, false)
}

/// `#[serde(serialize_with = "clock::as_timestamp")]`
pub fn as_timestamp<S: serde::Serializer>(at: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&timestamp(*at))
}

/// Whole seconds from `now` to `until`, rounded up: who waits that long is not sent away again.
pub fn seconds_until(until: DateTime<Utc>, now: DateTime<Utc>) -> u64 {
    let left = (until - now).to_std().unwrap_or_default();
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_milliseconds_and_a_numeric_offset() {
        let at = DateTime::from_timestamp_micros(1_779_358_500_000_000).unwrap();
        assert_eq!(timestamp(at), "2026-05-21T10:15:00.000+00:00");
    }
}
