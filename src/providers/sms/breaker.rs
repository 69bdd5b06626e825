//! The circuit breaker of one provider: after a number of consecutive failures the provider is skipped for a while.
//!
//! A *closed* breaker admits every text. An *open* breaker admits one text after each cool-down, as a trial (half-open). If the
//! provider takes the trial, the breaker closes. If it does not, or the outcome is never reported, the next trial is one
//! cool-down later.

use std::num::NonZeroU32;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// `[sms.breaker]`
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The number of consecutive failures that opens the breaker.
    pub opens_after: NonZeroU32,
    /// The time between two trials while the breaker is open.
    #[serde(with = "humantime_serde")]
    pub cool_down: Duration,
}

/// The recent health of one provider, as this instance sees it.
#[derive(Debug)]
pub(in crate::providers) struct Breaker {
    settings: Settings,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { next_trial: DateTime<Utc> },
}

impl Breaker {
    pub(in crate::providers) fn new(settings: Settings) -> Self {
        Self { settings, state: State::Closed { failures: 0 } }
    }

    /// Whether a text may be sent to the provider now. An open breaker admits only one text per cool-down, as its trial.
    pub(in crate::providers) fn admits(&mut self, now: DateTime<Utc>) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { next_trial } if next_trial <= now => {
                self.open(now);
                true
            }
            State::Open { .. } => false,
        }
    }

    /// When an open breaker admits the next text. `None` if it is closed.
    pub(in crate::providers) fn next_trial(&self) -> Option<DateTime<Utc>> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { next_trial } => Some(next_trial),
        }
    }

    /// Records that the provider works and closes the breaker.
    pub(in crate::providers) fn note_health(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// Records that the provider did not accept a text. Returns whether this opened the breaker.
    pub(in crate::providers) fn note_failure(&mut self, now: DateTime<Utc>) -> bool {
        match self.state {
            State::Closed { failures } if failures + 1 < self.settings.opens_after.get() => {
                self.state = State::Closed { failures: failures + 1 };
                false
            }
            State::Closed { .. } => {
                self.open(now);
                true
            }
            State::Open { .. } => {
                self.open(now);
                false
            }
        }
    }

    fn open(&mut self, now: DateTime<Utc>) {
        let cool_down = TimeDelta::from_std(self.settings.cool_down).unwrap_or(TimeDelta::MAX);
        self.state = State::Open { next_trial: now.checked_add_signed(cool_down).unwrap_or(DateTime::<Utc>::MAX_UTC) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn breaker() -> Breaker {
        Breaker::new(Settings { opens_after: NonZeroU32::new(3).unwrap(), cool_down: Duration::from_secs(30) })
    }

    fn open() -> Breaker {
        let mut breaker = breaker();
        assert_eq!([0, 1, 2].map(|second| breaker.note_failure(at(second))), [false, false, true]);
        breaker
    }

    #[test]
    fn three_consecutive_failures_open_the_breaker() {
        let mut broken = open();
        assert!(!broken.admits(at(2)) && !broken.admits(at(31)));
        assert_eq!(broken.next_trial(), Some(at(32)));

        let mut mended = breaker();
        mended.note_failure(at(0));
        mended.note_failure(at(1));
        mended.note_health();
        assert!(!mended.note_failure(at(2)) && mended.admits(at(2)), "failures count in a row only");
    }

    #[test]
    fn after_the_cool_down_one_text_is_the_trial() {
        let mut breaker = open();
        assert!(breaker.admits(at(32)) && !breaker.admits(at(32)), "only one trial is admitted");
        breaker.note_health();
        assert!(breaker.admits(at(33)) && breaker.next_trial().is_none());
    }

    #[test]
    fn a_trial_that_fails_or_is_never_reported_keeps_the_breaker_open() {
        let mut breaker = open();
        assert!(breaker.admits(at(32)));
        assert!(!breaker.note_failure(at(33)), "it was open before");
        assert!(!breaker.admits(at(62)) && breaker.admits(at(63)));
        // The outcome of the trial is never reported.
        assert!(!breaker.admits(at(92)) && breaker.admits(at(93)));
    }
}
