//! The circuit breaker of one provider: after so many texts in a row that it did not take, the others are asked for a while.
//!
//! *Closed*, it lets every text through. *Open*, it lets one through after each cool-down, as a trial: taken, the breaker closes; not
//! taken, or never heard of again, the next trial is a cool-down later.

use std::num::NonZeroU32;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// `[sms.breaker]`
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// So many failures in a row open it.
    pub opens_after: NonZeroU32,
    /// How long a provider is then spared.
    #[serde(with = "humantime_serde")]
    pub cool_down: Duration,
}

/// How one provider has been doing lately, as this instance saw it.
#[derive(Debug)]
pub(super) struct Breaker {
    settings: Settings,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { next_trial: DateTime<Utc> },
}

impl Breaker {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, state: State::Closed { failures: 0 } }
    }

    /// Whether a text may go to the provider now. The one that may go to an open one is its trial: nobody else gets in beside it.
    pub(super) fn admits(&mut self, now: DateTime<Utc>) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { next_trial } if next_trial <= now => {
                self.open(now);
                true
            }
            State::Open { .. } => false,
        }
    }

    /// When an open breaker admits the next text; `None` while it is closed.
    pub(super) fn next_trial(&self) -> Option<DateTime<Utc>> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { next_trial } => Some(next_trial),
        }
    }

    /// The provider answered as one that works.
    pub(super) fn note_health(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// The provider did not take a text. Gives whether that opened the breaker.
    pub(super) fn note_failure(&mut self, now: DateTime<Utc>) -> bool {
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
    fn three_failures_in_a_row_open_it() {
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
        assert!(breaker.admits(at(32)) && !breaker.admits(at(32)), "nobody gets in beside the trial");
        breaker.note_health();
        assert!(breaker.admits(at(33)) && breaker.next_trial().is_none());
    }

    #[test]
    fn a_trial_that_fails_or_is_never_heard_of_again_leaves_it_open() {
        let mut breaker = open();
        assert!(breaker.admits(at(32)));
        assert!(!breaker.note_failure(at(33)), "it was open before");
        assert!(!breaker.admits(at(62)) && breaker.admits(at(63)));
        // Whoever sent the trial is gone without a word.
        assert!(!breaker.admits(at(92)) && breaker.admits(at(93)));
    }
}
