//! The clock of the database server, as far as its answers tell.
//!
//! An answer with the server's time was written between the question and its arrival here, so the difference between the two clocks lies
//! between two bounds. As long as the difference that is assumed lies within them it is kept: a clock that followed every answer would go
//! backwards now and then. Between two answers the monotonic clock of this machine counts, which nobody sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::clock::system_micros;

/// After so long without an answer the server is asked again, at the next opportunity.
const STALE_AFTER: Duration = Duration::from_secs(5);
/// A correction of at least this much is worth a warning.
const LARGE: TimeDelta = TimeDelta::seconds(1);

/// The time of the database server. Until its first answer, it is that of this machine. Clones share what they know.
#[derive(Clone, Debug)]
pub struct ServerClock(Arc<Known>);

#[derive(Debug)]
struct Known {
    /// All instants are counted from here.
    origin: Instant,
    /// The server's time at the origin, in microseconds since 1970.
    at_origin: AtomicI64,
    /// When the server was asked last, in microseconds since the origin.
    asked_at: AtomicU64,
}

impl Default for ServerClock {
    fn default() -> Self {
        let (at_origin, asked_at) = (AtomicI64::new(system_micros()), AtomicU64::new(0));
        Self(Arc::new(Known { origin: Instant::now(), at_origin, asked_at }))
    }
}

impl ServerClock {
    /// The time at the server.
    pub fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.micros()).expect("the server's time is within chrono's range")
    }

    pub(super) fn micros(&self) -> i64 {
        self.0.at_origin.load(Ordering::Relaxed) + self.0.since_origin(Instant::now())
    }

    /// Notes what the server answered, between these two instants, as its time.
    pub fn note(&self, answer: DateTime<Utc>, asked: Instant, answered: Instant) {
        let known = &*self.0;
        let earliest = answer.timestamp_micros() - known.since_origin(answered);
        let latest = answer.timestamp_micros() - known.since_origin(asked);
        let assumed = known.at_origin.load(Ordering::Relaxed);
        if (earliest..=latest).contains(&assumed) {
            return;
        }
        let corrected = i64::midpoint(earliest, latest);
        known.at_origin.store(corrected, Ordering::Relaxed);
        let correction = TimeDelta::microseconds(corrected - assumed);
        if correction.abs() >= LARGE {
            tracing::warn!(
                seconds = correction.num_milliseconds() as f64 / 1000.0,
                "the time was corrected: this machine's clock differs from the database's, or that was set or is another server's now"
            );
        }
    }

    /// Whether the server should be asked again. Says so to one caller, who asks.
    pub fn is_stale(&self) -> bool {
        let now = self.0.since_origin(Instant::now()).unsigned_abs();
        let asked_at = self.0.asked_at.load(Ordering::Relaxed);
        now.saturating_sub(asked_at) >= STALE_AFTER.as_micros() as u64
            && self.0.asked_at.compare_exchange(asked_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Known {
    fn since_origin(&self, instant: Instant) -> i64 {
        let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        match instant.checked_duration_since(self.origin) {
            Some(since) => micros(since),
            None => -micros(self.origin - instant),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_follows_the_server_only_as_far_as_an_answer_proves() {
        let clock = ServerClock::default();
        // Asked at the origin, so that what is assumed there does not depend on how long this takes.
        let asked = clock.0.origin;
        let (answered, at_origin) = (asked + Duration::from_millis(10), || clock.0.at_origin.load(Ordering::Relaxed));
        let first = at_origin();
        let began = DateTime::from_timestamp_micros(first).unwrap();

        clock.note(began + TimeDelta::milliseconds(3), asked, answered);
        assert_eq!(at_origin(), first, "it may well be right");
        clock.note(began + TimeDelta::milliseconds(7), asked, answered);
        assert_eq!(at_origin(), first, "both are possible");

        clock.note(began + TimeDelta::minutes(2), asked, answered);
        assert_eq!(at_origin() - first, 119_995_000, "the middle of what is possible is a little less than two minutes");
        clock.note(began - TimeDelta::minutes(2), asked, answered);
        assert_eq!(at_origin() - first, -120_005_000);
        let passed = TimeDelta::microseconds(clock.0.since_origin(Instant::now()));
        assert!(clock.now() >= began - TimeDelta::milliseconds(120_005) + passed, "the monotonic clock counts from there");
    }

    #[test]
    fn one_caller_asks_when_the_last_answer_is_old() {
        let clock = ServerClock::default();
        assert!(!clock.is_stale());
        let origin = Instant::now() - STALE_AFTER;
        let known = Known { origin, at_origin: AtomicI64::new(0), asked_at: AtomicU64::new(0) };
        let clock = ServerClock(Arc::new(known));
        assert_eq!([clock.is_stale(), clock.is_stale()], [true, false]);
    }
}
