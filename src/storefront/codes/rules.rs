//! The verdict on a guess: a pure function of the counters and the comparison.

use chrono::{DateTime, TimeDelta, Utc};

/// A second request within this time sends no message.
pub(super) const RESEND_AFTER: TimeDelta = TimeDelta::minutes(1);
/// Guesses per code.
pub const MAX_GUESSES: i32 = 5;
/// Wrong codes per identity, across all codes and client addresses, before the identity is locked out.
pub(super) const MAX_WRONG_CODES: i32 = 10;
pub(super) const LOCKOUT: TimeDelta = TimeDelta::minutes(15);
/// The tally of wrong codes starts over if there was no wrong guess for this time.
pub(super) const LOCKOUT_RESET_AFTER: TimeDelta = TimeDelta::hours(1);

/// The code that the guess was compared with. `guesses` includes this guess.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuessedCode<C> {
    pub(super) code: C,
    pub(super) guesses: i32,
    pub(super) expires_at: DateTime<Utc>,
    pub(super) is_used: bool,
    pub(super) matches: bool,
}

/// The tally of the identity, which counts this guess as a wrong one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) wrong: i32,
    pub(super) locked_out_until: Option<DateTime<Utc>>,
}

/// The verdict on a guess at a `C`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict<C> {
    Right(C),
    /// The code is wrong or does not exist. The response does not tell which.
    Wrong {
        attempts_left: Option<i32>,
    },
    Expired,
    Locked,
    LockedOut {
        until: DateTime<Utc>,
    },
}

impl<C> Verdict<C> {
    /// The word for it in the metrics.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Right(_) => "right",
            Self::Wrong { .. } => "wrong",
            Self::Expired => "expired",
            Self::Locked => "locked",
            Self::LockedOut { .. } => "locked_out",
        }
    }
}

/// Judges one guess. The tenth wrong code locks the identity out. Further guesses are refused even if they are right.
pub(super) fn judge<C>(guessed: Option<GuessedCode<C>>, tally: Tally, now: DateTime<Utc>) -> Verdict<C> {
    let verdict = match guessed {
        None => Verdict::Wrong { attempts_left: None },
        Some(guessed) if guessed.expires_at <= now => Verdict::Expired,
        Some(guessed) if guessed.is_used => Verdict::Wrong { attempts_left: None },
        Some(guessed) if guessed.guesses > MAX_GUESSES => Verdict::Locked,
        Some(guessed) if guessed.matches => Verdict::Right(guessed.code),
        Some(guessed) if guessed.guesses == MAX_GUESSES => Verdict::Locked,
        Some(guessed) => Verdict::Wrong { attempts_left: Some(MAX_GUESSES - guessed.guesses) },
    };
    let is_right_in_time = matches!(verdict, Verdict::Right(_)) && tally.wrong <= MAX_WRONG_CODES;
    match tally.locked_out_until {
        Some(until) if until > now && !is_right_in_time => Verdict::LockedOut { until },
        _ => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storefront::purpose::CODE_LIFETIME;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn at(guesses: i32, matches: bool) -> Option<GuessedCode<&'static str>> {
        Some(GuessedCode { code: "the code", guesses, expires_at: NOW + CODE_LIFETIME, is_used: false, matches })
    }

    fn tally(wrong: i32) -> Tally {
        Tally { wrong, locked_out_until: (wrong >= MAX_WRONG_CODES).then_some(NOW + LOCKOUT) }
    }

    #[test]
    fn the_table_of_decisions_section_4() {
        let left = |attempts_left| Verdict::Wrong { attempts_left };
        let until = NOW + LOCKOUT;
        for (what, code, wrong, verdict) in [
            ("right", at(1, true), 1, Verdict::Right("the code")),
            ("wrong", at(1, false), 1, left(Some(4))),
            ("the fourth wrong guess", at(4, false), 4, left(Some(1))),
            ("the fifth wrong guess", at(5, false), 5, Verdict::Locked),
            ("right at the fifth", at(5, true), 5, Verdict::Right("the code")),
            ("right after the fifth", at(6, true), 6, Verdict::Locked),
            ("no such code", None, 1, left(None)),
            ("the tenth wrong code", at(5, false), 10, Verdict::LockedOut { until }),
            ("right as the tenth", at(5, true), 10, Verdict::Right("the code")),
            ("right during the lock-out", at(1, true), 11, Verdict::LockedOut { until }),
            ("no such code during the lock-out", None, 12, Verdict::LockedOut { until }),
        ] {
            assert_eq!(judge(code, tally(wrong), NOW), verdict, "{what}");
        }
    }

    #[test]
    fn a_code_lives_ten_minutes_and_works_once() {
        assert_eq!(judge(at(1, true), tally(1), NOW + CODE_LIFETIME - TimeDelta::microseconds(1)), Verdict::Right("the code"));
        assert_eq!(judge(at(1, true), tally(1), NOW + CODE_LIFETIME), Verdict::Expired);
        let used = at(1, true).map(|code| GuessedCode { is_used: true, ..code });
        assert_eq!(judge(used, tally(1), NOW), Verdict::Wrong { attempts_left: None });
    }
}
