//! How long an endpoint has been failing, and which notice is due: pure functions.

use chrono::{DateTime, TimeDelta, Utc};

use crate::webhooks::engine::endpoints::Episode;

/// How long all deliveries can fail before the webhook is disabled.
pub(super) const DISABLE_AFTER: TimeDelta = TimeDelta::days(5);
/// The percentages of this time at which operators are notified.
const NOTICE_PERCENTS: [i16; 4] = [100, 90, 70, 50];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// This percentage of the time has passed.
    Failing { since: DateTime<Utc>, percent: i16 },
    /// All of the time has passed.
    Disabled { since: DateTime<Utc> },
    /// The endpoint responded that it is gone, however much time has passed.
    Gone { since: DateTime<Utc> },
    /// A delivery succeeded after a notice.
    Recovered { since: DateTime<Utc> },
    /// The webhook was enabled again after a notice; the episode ends without a notice.
    Over,
}

impl Episode {
    /// The notice that is due and has not been given yet.
    pub(super) fn due(&self) -> Option<Notice> {
        match self.noticed_since {
            Some(noticed) if self.failing_since != Some(noticed) => Some(match self.last_success_at {
                Some(success) if success >= noticed => Notice::Recovered { since: noticed },
                _ => Notice::Over,
            }),
            _ => {
                let since = self.failing_since?;
                let failing_for = self.last_failure_at? - since;
                let percent = NOTICE_PERCENTS.into_iter().find(|percent| failing_for * 100 >= DISABLE_AFTER * i32::from(*percent))?;
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
    /// The percentage that operators have been notified of after this notice.
    pub(super) fn percent(&self) -> i16 {
        match self {
            Self::Failing { percent, .. } => *percent,
            Self::Disabled { .. } | Self::Gone { .. } => 100,
            Self::Recovered { .. } | Self::Over => 0,
        }
    }

    /// The episode that operators have been notified of after this notice.
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

    /// Failing from hour 0 to `until`, with a notice of `percent` already given.
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
    fn notices_are_due_at_50_70_90_and_100_percent_of_five_days() {
        let since = hour(0);
        for (until, noticed, due) in [
            (59, 0, None),
            (60, 0, Some(Notice::Failing { since, percent: 50 })),
            (83, 50, None),
            (84, 50, Some(Notice::Failing { since, percent: 70 })),
            (107, 70, None),
            (108, 70, Some(Notice::Failing { since, percent: 90 })),
            (119, 90, None),
            (120, 90, Some(Notice::Disabled { since })),
            (500, 100, None),
            // No check happened in between.
            (110, 0, Some(Notice::Failing { since, percent: 90 })),
        ] {
            assert_eq!(failing(until, noticed).due(), due, "hour {until}, after {noticed}");
        }
    }

    #[test]
    fn an_episode_with_a_notice_ends_with_a_success_or_when_the_webhook_is_enabled() {
        let over = Episode { failing_since: None, ..failing(70, 50) };
        assert_eq!(over.due(), Some(Notice::Over), "the webhook was enabled again");
        assert_eq!(Episode { last_success_at: Some(hour(71)), ..over }.due(), Some(Notice::Recovered { since: hour(0) }));
        let again = Episode { failing_since: Some(hour(72)), last_success_at: Some(hour(71)), ..failing(80, 50) };
        assert_eq!(again.due(), Some(Notice::Recovered { since: hour(0) }));
        assert_eq!(Episode { noticed_percent: 0, noticed_since: None, ..over }.due(), None);
    }
}
