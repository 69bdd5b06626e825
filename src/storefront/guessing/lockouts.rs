//! Lock-outs: how many wrong guesses make one, and how long it lasts.

use chrono::{DateTime, TimeDelta, Utc};

/// Wrong guesses at one subject before it is locked out.
pub const WRONG_GUESSES: i32 = 10;

/// How long the lock-outs last, one after the other, until a sign-in. Further ones last as long as the last.
const STEPS: [TimeDelta; 4] = [TimeDelta::minutes(15), TimeDelta::hours(1), TimeDelta::hours(6), TimeDelta::hours(24)];

/// Wrong guesses in a row, over all lock-outs, after which only a sign-in by another way or an operator helps (NIST SP 800-63B, 3.2.2).
pub const WRONG_IN_A_ROW: i32 = 100;

/// When a client may ask again whom only something else helps.
const LOCKED_FOR_GOOD: TimeDelta = TimeDelta::hours(24);

/// The ends of the lock-outs that begin at `now`: the first, the second, and so on.
pub fn ends(now: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    STEPS.iter().map(|step| now + *step).collect()
}

/// How a subject stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lockout {
    /// The end of the lock-out. One that does not end by itself is shown as the longest.
    pub until: DateTime<Utc>,
    /// The end of its first fifteen minutes. For codes they hold on every device (interface 1, States and transitions).
    pub begun_until: DateTime<Utc>,
    /// The number of lock-outs since the last sign-in.
    pub step: i32,
    /// Whether it does not end by itself.
    pub for_good: bool,
}

impl Lockout {
    /// The lock-out at `now`, if there is one.
    pub fn at(now: DateTime<Utc>, until: Option<DateTime<Utc>>, in_a_row: i32, step: i32) -> Option<Self> {
        let nth = usize::try_from(step).unwrap_or_default().clamp(1, STEPS.len()) - 1;
        let begun_until = until.map_or(now, |until| until - STEPS[nth] + STEPS[0]);
        match until.filter(|until| *until > now) {
            _ if in_a_row >= WRONG_IN_A_ROW => Some(Self { until: now + LOCKED_FOR_GOOD, begun_until, step, for_good: true }),
            until => until.map(|until| Self { until, begun_until, step, for_good: false }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    #[test]
    fn a_lockout_ends_by_itself_until_there_were_a_hundred_wrong_ones() {
        let until = NOW + TimeDelta::minutes(15);
        assert_eq!(Lockout::at(NOW, Some(until), 10, 1), Some(Lockout { until, begun_until: until, step: 1, for_good: false }));
        let second = Lockout::at(NOW, Some(NOW + TimeDelta::hours(1)), 20, 2).unwrap();
        assert_eq!(second.begun_until, until);
        assert_eq!(Lockout::at(until, Some(until), 99, 9), None);
        assert_eq!(Lockout::at(NOW, None, 9, 0), None);
        let for_good = Lockout::at(until, Some(until), 100, 10).unwrap();
        assert_eq!((for_good.until, for_good.for_good), (until + TimeDelta::hours(24), true));
    }
}
