//! How long an endpoint has been failing, and what has to be told of it: pure functions.

use chrono::{DateTime, TimeDelta, Utc};

/// As long as this every delivery may fail.
pub(super) const PATIENCE: TimeDelta = TimeDelta::days(5);
/// At these percents of it the operators are told.
const STEPS: [i16; 4] = [100, 90, 70, 50];

/// An endpoint between two successes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    /// The first failure since the last success.
    pub(super) failing_since: Option<DateTime<Utc>>,
    pub(super) last_failure_at: Option<DateTime<Utc>>,
    pub(super) last_success_at: Option<DateTime<Utc>>,
    /// What the operators have been told, 0 for nothing …
    pub(super) noticed_percent: i16,
    /// … and of which episode.
    pub(super) noticed_since: Option<DateTime<Utc>>,
}

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// So much of the time has passed.
    Failing { since: DateTime<Utc>, percent: i16 },
    /// All of it.
    Disabled { since: DateTime<Utc> },
    /// The endpoint said that it is gone, however much has passed.
    Gone { since: DateTime<Utc> },
    /// A delivery succeeded after they had been told.
    Recovered { since: DateTime<Utc> },
    /// Nothing: somebody enabled the webhook anew, and what they had been told is over.
    Over,
}

impl Episode {
    /// What the operators have to know and do not know yet.
    pub(super) fn due(&self) -> Option<Notice> {
        match self.noticed_since {
            Some(told) if self.failing_since != Some(told) => Some(match self.last_success_at {
                Some(success) if success >= told => Notice::Recovered { since: told },
                _ => Notice::Over,
            }),
            _ => {
                let since = self.failing_since?;
                let failing_for = self.last_failure_at? - since;
                let percent = STEPS.into_iter().find(|percent| failing_for * 100 >= PATIENCE * i32::from(*percent))?;
                match percent {
                    _ if percent <= self.noticed_percent => None,
                    100 => Some(Notice::Disabled { since }),
                    _ => Some(Notice::Failing { since, percent }),
                }
            }
        }
    }
}

impl Notice {
    /// What they know after it.
    pub(super) fn percent(&self) -> i16 {
        match self {
            Self::Failing { percent, .. } => *percent,
            Self::Disabled { .. } | Self::Gone { .. } => 100,
            Self::Recovered { .. } | Self::Over => 0,
        }
    }

    /// The episode they know of after it.
    pub(super) fn failing_since(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::Failing { since, .. } | Self::Disabled { since } | Self::Gone { since } => Some(*since),
            Self::Recovered { .. } | Self::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::hours(hour)
    }

    /// Failing from hour 0 to `until`, after `percent` was told.
    fn failing(until: i64, percent: i16) -> Episode {
        let noticed_since = (percent > 0).then(|| hour(0));
        Episode {
            failing_since: Some(hour(0)),
            last_failure_at: Some(hour(until)),
            last_success_at: None,
            noticed_percent: percent,
            noticed_since,
        }
    }

    #[test]
    fn at_half_seven_tenths_nine_tenths_and_the_end_of_five_days_there_is_something_to_tell() {
        let since = hour(0);
        for (until, told, due) in [
            (59, 0, None),
            (60, 0, Some(Notice::Failing { since, percent: 50 })),
            (83, 50, None),
            (84, 50, Some(Notice::Failing { since, percent: 70 })),
            (107, 70, None),
            (108, 70, Some(Notice::Failing { since, percent: 90 })),
            (119, 90, None),
            (120, 90, Some(Notice::Disabled { since })),
            (500, 100, None),
            // Nobody looked meanwhile.
            (110, 0, Some(Notice::Failing { since, percent: 90 })),
        ] {
            assert_eq!(failing(until, told).due(), due, "hour {until}, after {told}");
        }
    }

    #[test]
    fn an_episode_they_were_told_of_ends_with_a_success_or_with_a_new_beginning() {
        let over = Episode { failing_since: None, ..failing(70, 50) };
        assert_eq!(over.due(), Some(Notice::Over), "somebody enabled it anew");
        assert_eq!(Episode { last_success_at: Some(hour(71)), ..over }.due(), Some(Notice::Recovered { since: hour(0) }));
        let again = Episode { failing_since: Some(hour(72)), last_success_at: Some(hour(71)), ..failing(80, 50) };
        assert_eq!(again.due(), Some(Notice::Recovered { since: hour(0) }));
        assert_eq!(Episode { noticed_percent: 0, noticed_since: None, ..over }.due(), None);
    }
}
