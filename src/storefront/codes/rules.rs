//! The verdict on a guess: a pure function of the counters and the comparison.

use chrono::{DateTime, TimeDelta, Utc};

use crate::storefront::guessing::lockouts::{Lockout, WRONG_GUESSES};

/// Guesses per code.
pub const MAX_GUESSES: i32 = 5;
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
    /// Whether the client is one that may know how the code stands.
    pub(super) is_told: bool,
}

/// The tally of the subject, which counts this guess as a wrong one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) wrong: i32,
    pub(super) lockout: Option<Lockout>,
    /// Whether a lock-out refuses the client for its first fifteen minutes only: the customer has signed in from there before.
    pub(super) is_favoured: bool,
}

/// Every word of [`Verdict::as_str`].
pub const VERDICTS: [&str; 6] = ["right", "used", "wrong", "expired", "locked", "locked_out"];

/// The verdict on a guess at a `C`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict<C> {
    Right(C),
    /// The code is right and was used before: a request that was sent twice, and no guess.
    Used(C),
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
    /// The verdict as everybody may know it: without what tells that there is a code.
    pub(super) fn untold(self) -> Self {
        match self {
            Self::Used(_) | Self::Wrong { .. } | Self::Expired | Self::Locked => Self::Wrong { attempts_left: None },
            told @ (Self::Right(_) | Self::LockedOut { .. }) => told,
        }
    }

    /// Whether the guess was compared, or would have been, and was not right.
    pub(super) fn is_wrong(&self) -> bool {
        matches!(self, Self::Wrong { .. } | Self::Expired | Self::Locked)
    }

    /// The word for it in the metrics.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Right(_) => "right",
            Self::Used(_) => "used",
            Self::Wrong { .. } => "wrong",
            Self::Expired => "expired",
            Self::Locked => "locked",
            Self::LockedOut { .. } => "locked_out",
        }
    }
}

/// Judges one guess. The tenth wrong code locks the subject out. Further guesses are refused even if they are right.
pub(super) fn judge<C>(guessed: Option<GuessedCode<C>>, tally: Tally, now: DateTime<Utc>) -> Verdict<C> {
    let verdict = match guessed {
        None => Verdict::Wrong { attempts_left: None },
        Some(guessed) if guessed.expires_at <= now => Verdict::Expired,
        Some(guessed) if guessed.is_used && guessed.matches && guessed.is_told => Verdict::Used(guessed.code),
        Some(guessed) if guessed.is_used => Verdict::Wrong { attempts_left: None },
        Some(guessed) if guessed.guesses > MAX_GUESSES => Verdict::Locked,
        Some(guessed) if guessed.matches => Verdict::Right(guessed.code),
        Some(guessed) if guessed.guesses == MAX_GUESSES => Verdict::Locked,
        Some(guessed) => Verdict::Wrong { attempts_left: Some(MAX_GUESSES - guessed.guesses) },
    };
    match tally.lockout {
        Some(Lockout { begun_until, .. }) if tally.is_favoured && begun_until <= now => verdict,
        // It is the one that would have begun the lock-out.
        Some(Lockout { for_good: false, .. })
            if matches!(verdict, Verdict::Right(_) | Verdict::Used(_)) && tally.wrong <= WRONG_GUESSES =>
        {
            verdict
        }
        Some(Lockout { begun_until, .. }) if tally.is_favoured => Verdict::LockedOut { until: begun_until },
        Some(Lockout { until, .. }) => Verdict::LockedOut { until },
        None => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storefront::purpose::CODE_LIFETIME;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    #[test]
    fn the_metrics_know_every_verdict() {
        let wrong = Verdict::Wrong { attempts_left: None };
        let verdicts = [Verdict::Right(()), Verdict::Used(()), wrong, Verdict::Expired, Verdict::Locked, Verdict::LockedOut { until: NOW }];
        assert_eq!(verdicts.map(|verdict| verdict.as_str()), VERDICTS);
    }

    fn at(guesses: i32, matches: bool) -> Option<GuessedCode<&'static str>> {
        Some(GuessedCode { code: "the code", guesses, expires_at: NOW + CODE_LIFETIME, is_used: false, matches, is_told: true })
    }

    fn lockout() -> Lockout {
        Lockout { until: NOW + TimeDelta::minutes(15), begun_until: NOW + TimeDelta::minutes(15), step: 1, for_good: false }
    }

    fn tally(wrong: i32) -> Tally {
        Tally { wrong, lockout: (wrong >= WRONG_GUESSES).then(lockout), is_favoured: false }
    }

    #[test]
    fn the_table_of_decisions_section_4() {
        let left = |attempts_left| Verdict::Wrong { attempts_left };
        let until = lockout().until;
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
    fn a_lockout_refuses_a_favoured_client_for_fifteen_minutes_and_one_for_good_refuses_right_codes_too() {
        let favoured = Tally { is_favoured: true, ..tally(12) };
        let begun_until = lockout().begun_until;
        assert_eq!(judge(at(1, true), favoured, NOW), Verdict::LockedOut { until: begun_until });
        let long = Lockout { until: NOW + TimeDelta::hours(1), begun_until: NOW, ..lockout() };
        let favoured = Tally { lockout: Some(long), ..favoured };
        assert_eq!(judge(at(1, true), favoured, NOW), Verdict::Right("the code"));
        assert_eq!(judge(at(1, false), favoured, NOW), Verdict::Wrong { attempts_left: Some(4) });
        let for_good = Lockout { for_good: true, ..lockout() };
        let until = for_good.until;
        assert_eq!(judge(at(1, true), Tally { lockout: Some(for_good), ..tally(1) }, NOW), Verdict::LockedOut { until });
    }

    #[test]
    fn strangers_are_not_told_that_there_is_a_code() {
        let unknown = Verdict::<&str>::Wrong { attempts_left: None };
        for told in [Verdict::Used("the code"), Verdict::Wrong { attempts_left: Some(3) }, Verdict::Expired, Verdict::Locked] {
            assert_eq!(told.untold(), judge(None, tally(1), NOW));
        }
        assert_eq!((Verdict::Right("the code").untold(), unknown.untold()), (Verdict::Right("the code"), unknown));
    }

    #[test]
    fn a_code_lives_ten_minutes_and_works_once() {
        assert_eq!(judge(at(1, true), tally(1), NOW + CODE_LIFETIME - TimeDelta::microseconds(1)), Verdict::Right("the code"));
        assert_eq!(judge(at(1, true), tally(1), NOW + CODE_LIFETIME), Verdict::Expired);
        let used = |matches, is_told| at(2, matches).map(|code| GuessedCode { is_used: true, is_told, ..code });
        let wrong = Verdict::Wrong { attempts_left: None };
        assert_eq!(judge(used(true, true), tally(1), NOW), Verdict::Used("the code"));
        assert_eq!(judge(used(true, true), tally(10), NOW), Verdict::Used("the code"), "it is no tenth wrong one either");
        assert_eq!((judge(used(false, true), tally(1), NOW), judge(used(true, false), tally(1), NOW)), (wrong, wrong));
        assert!(!Verdict::Used("the code").is_wrong() && wrong.is_wrong());
    }
}
