//! The time as an argument: the database's in production, a clock moved by hand in tests.

mod server_clock;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

pub use crate::kernel::clock::server_clock::ServerClock;

/// The clock. Cheap to clone; clones of a [`Clock::Moved`] move together.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The clock of this machine, for what needs no database.
    System,
    /// The clock of the database, which all instances have in common: leases, due times and limits are theirs together.
    Server(ServerClock),
    /// A clock that stands still until [`Clock::advance`] moves it. Microseconds since 1970.
    Moved(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `start` until it is advanced.
    pub fn standing_at(start: DateTime<Utc>) -> Self {
        Self::Moved(Arc::new(AtomicI64::new(start.timestamp_micros())))
    }

    /// The current time in whole microseconds, the precision of Postgres, so that a value read back equals the one written.
    pub fn now(&self) -> DateTime<Utc> {
        let micros = match self {
            Self::System => system_micros(),
            Self::Server(clock) => clock.micros(),
            Self::Moved(micros) => micros.load(Ordering::SeqCst),
        };
        DateTime::from_timestamp_micros(micros).expect("the current time is within chrono's range")
    }

    /// Advances a clock made by [`Clock::standing_at`]. Has no effect on other clocks.
    pub fn advance(&self, by: TimeDelta) {
        if let Self::Moved(micros) = self {
            let by = by.num_microseconds().expect("test clocks move by less than 290,000 years");
            micros.fetch_add(by, Ordering::SeqCst);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the only place that reads the system clock")]
fn system_micros() -> i64 {
    Utc::now().timestamp_micros()
}

/// Formats an instant as responses and events show it: `2026-05-21T10:15:00.000+00:00`. Decisions, section 1.
pub fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, false)
}

/// `#[serde(serialize_with = "clock::as_timestamp")]`
pub fn as_timestamp<S: serde::Serializer>(at: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&timestamp(*at))
}

/// Whole seconds from `now` to `until`, rounded up, so that a client that waits that long is not rejected again.
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
