//! How far back figures reach, and in which steps.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

crate::text_enum! {
    /// A period that ends now. Its steps begin at full hours or at midnight, UTC; the last one is under way.
    pub enum Period, default Day {
        /// 24 steps of an hour.
        Day = "24h",
        /// 28 steps of six hours.
        Week = "7d",
        /// 30 steps of a day.
        Month = "30d",
    }
}

impl Period {
    /// The length of a step.
    pub fn step(self) -> TimeDelta {
        TimeDelta::hours(match self {
            Self::Day => 1,
            Self::Week => 6,
            Self::Month => 24,
        })
    }

    /// The number of steps.
    pub fn steps(self) -> i32 {
        match self {
            Self::Day => 24,
            Self::Week => 28,
            Self::Month => 30,
        }
    }

    /// When the first step begins.
    pub fn begins_at(self, now: DateTime<Utc>) -> DateTime<Utc> {
        let current = now.duration_trunc(self.step()).expect("the steps are whole hours, and the year is near");
        current - self.step() * (self.steps() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_ends_with_the_step_that_is_under_way() {
        let now = "2026-05-21T10:15:00Z".parse().unwrap();
        for (period, begins_at) in
            [(Period::Day, "2026-05-20T11:00:00Z"), (Period::Week, "2026-05-14T12:00:00Z"), (Period::Month, "2026-04-22T00:00:00Z")]
        {
            assert_eq!(period.begins_at(now), begins_at.parse::<DateTime<Utc>>().unwrap(), "{}", period.as_str());
        }
    }
}
