//! What the guard remembers of a scope that it has paused: until when, and how long the next pause is. Pure functions.

use chrono::{DateTime, TimeDelta, Utc};

/// How long a pause lasts: the first one, the one after it, and so on.
const LENGTHS: [TimeDelta; 4] = [TimeDelta::minutes(15), TimeDelta::hours(1), TimeDelta::hours(6), TimeDelta::hours(24)];
/// After each of these without a pause, the next pause is one step shorter.
pub(super) const QUIET: TimeDelta = TimeDelta::days(1);
/// After this time a pause says nothing any more.
pub(super) const FORGOTTEN_AFTER: TimeDelta = TimeDelta::days(LENGTHS.len() as i64);

/// The latest pause of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Learnt {
    /// How many pauses followed each other, at most as many as there are [`LENGTHS`].
    pub(super) level: i16,
    pub(super) since: DateTime<Utc>,
    pub(super) until: DateTime<Utc>,
    pub(super) reason: String,
}

impl Learnt {
    /// The level that is left after a quiet time.
    pub(super) fn level(&self, now: DateTime<Utc>) -> i16 {
        let quiet = (now - self.until).num_seconds().max(0) / QUIET.num_seconds();
        i16::try_from(i64::from(self.level) - quiet).unwrap_or(0).max(0)
    }
}

/// The level and the end of a pause that begins now.
pub(super) fn next_pause(before: Option<&Learnt>, now: DateTime<Utc>) -> (i16, DateTime<Utc>) {
    let earlier = before.map_or(0, |learnt| learnt.level(now));
    let step = usize::try_from(earlier).unwrap_or(0).min(LENGTHS.len() - 1);
    (i16::try_from(step + 1).unwrap_or(1), now + LENGTHS[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn learnt(level: i16, until: DateTime<Utc>) -> Learnt {
        Learnt { level, since: NOW, until, reason: String::new() }
    }

    #[test]
    fn pauses_that_follow_each_other_last_longer() {
        let mut before = None;
        let mut lengths = Vec::new();
        let mut now = NOW;
        for _ in 0..5 {
            let (level, until) = next_pause(before.as_ref(), now);
            lengths.push(until - now);
            before = Some(learnt(level, until));
            now = until + TimeDelta::minutes(3);
        }
        assert_eq!(lengths, [15, 60, 360, 1440, 1440].map(TimeDelta::minutes));
    }

    #[test]
    fn each_quiet_day_takes_a_step_back() {
        let third = learnt(3, NOW);
        for (days, level) in [(0, 3), (1, 2), (2, 1), (3, 0), (9, 0)] {
            assert_eq!(third.level(NOW + QUIET * days), level, "{days}");
        }
        assert_eq!(next_pause(Some(&third), NOW + QUIET * 3), (1, NOW + QUIET * 3 + TimeDelta::minutes(15)));
    }
}
