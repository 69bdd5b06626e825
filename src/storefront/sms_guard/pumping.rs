//! Whether what strangers were texted looks like SMS pumping: a pure function of how many of their codes were used.
//!
//! Who pumps earns on what is sent, and does not use the codes, or few of them. Customers use most of theirs, but not at once: a code says
//! nothing until it is [`RIPE_AFTER`] old. What was used lately also says how many there may be under way: codes that can still be used.

use chrono::TimeDelta;

use crate::storefront::purpose::CODE_LIFETIME;

/// The age from which on codes are judged by their use.
pub(super) const RIPE_AFTER: TimeDelta = TimeDelta::minutes(2);
/// How long an unused code is under way.
pub(super) const UNDER_WAY_FOR: TimeDelta = CODE_LIFETIME;
/// The periods in which the codes of a scope are judged: a burst shows in the shortest one, a trickle in the longest one.
pub(super) const PERIODS: [Period; 3] = [Period::TenMinutes, Period::Hour, Period::Day];
/// Where codes were used, a burst may be a part as large as this of those used within the day before it is judged: 1/4.
const SHARE_OF_USED: i64 = 4;
/// After a pause, this part of the unused codes is enough for the next one: 1/4, but two.
const ENOUGH_TO_RECALL: i64 = 4;
const LEAST_TO_RECALL: i64 = 2;

/// A period in which codes are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Ten minutes.
    TenMinutes,
    /// An hour.
    Hour,
    /// 24 hours.
    Day,
}

impl Period {
    pub(super) fn length(self) -> TimeDelta {
        match self {
            Self::TenMinutes => TimeDelta::minutes(10),
            Self::Hour => TimeDelta::hours(1),
            Self::Day => TimeDelta::days(1),
        }
    }

    /// As the end of a sentence.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::TenMinutes => "within ten minutes",
            Self::Hour => "within an hour",
            Self::Day => "within a day",
        }
    }
}

/// Codes that strangers were texted, and how many of them were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codes {
    /// Codes that are ripe.
    pub texted: i64,
    /// How many of these were used.
    pub used: i64,
}

/// What became of the codes that strangers were texted in one scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversion {
    /// The codes of each of the [`PERIODS`], of those since the end of the latest pause.
    pub(super) periods: [Codes; 3],
    /// Codes that are not used and can be.
    pub(super) under_way: i64,
    /// Codes that were used of those of the last 24 hours.
    pub(super) used_today: i64,
}

impl Conversion {
    /// Adds that of another scope.
    pub(super) fn add(&mut self, other: &Self) {
        for (codes, more) in self.periods.iter_mut().zip(other.periods) {
            codes.texted += more.texted;
            codes.used += more.used;
        }
        self.under_way += other.under_way;
        self.used_today += other.used_today;
    }
}

/// How much is tolerated in a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    /// Unused codes, from which on they are judged.
    pub(super) unused: i64,
    /// The least percentage of codes that customers use.
    pub(super) percent: i64,
}

impl Tolerance {
    /// The same for a scope that was paused before: what the guard has learnt makes it suspicious sooner.
    pub(super) fn recalling(self, level: i16) -> Self {
        match level {
            0 => self,
            _ => Self { unused: (self.unused / ENOUGH_TO_RECALL).max(LEAST_TO_RECALL).min(self.unused), ..self },
        }
    }

    /// The codes that make the scope suspicious, if any do.
    pub(super) fn suspects(self, conversion: &Conversion) -> Option<(Codes, Period)> {
        conversion.periods.into_iter().zip(PERIODS).find(|(codes, period)| {
            let usual = if *period == Period::Day { 0 } else { conversion.used_today / SHARE_OF_USED };
            codes.texted >= (self.unused + usual).max(1) && codes.used * 100 < codes.texted * self.percent
        })
    }

    /// How many codes may be under way.
    pub(super) fn under_way(self, conversion: &Conversion) -> i64 {
        if self.unused == 0 { 0 } else { self.unused + conversion.used_today }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Tolerance = Tolerance { unused: 10, percent: 20 };

    fn codes(texted: i64, used: i64) -> Codes {
        Codes { texted, used }
    }

    fn over(periods: [Codes; 3]) -> Conversion {
        Conversion { periods, used_today: periods[2].used, under_way: 0 }
    }

    #[test]
    fn few_codes_say_nothing_and_many_unused_ones_say_enough() {
        let suspects = |texted, used| TEN.suspects(&over([codes(texted, used); 3]));
        assert_eq!(suspects(9, 0), None);
        assert_eq!(suspects(10, 0), Some((codes(10, 0), Period::TenMinutes)));
        assert_eq!(suspects(10, 1), Some((codes(10, 1), Period::TenMinutes)));
        assert_eq!(suspects(10, 2), None, "a fifth was used");
    }

    #[test]
    fn a_trickle_shows_within_the_day() {
        let trickle = over([codes(0, 0), codes(1, 0), codes(10, 1)]);
        assert_eq!(TEN.suspects(&trickle), Some((codes(10, 1), Period::Day)));
    }

    #[test]
    fn a_burst_where_codes_are_used_has_to_be_larger() {
        let burst = |unused| over([codes(unused, 0), codes(unused, 0), codes(unused + 100, 80)]);
        assert_eq!(TEN.suspects(&burst(29)), None);
        assert_eq!(TEN.suspects(&burst(30)), Some((codes(30, 0), Period::TenMinutes)));
        assert_eq!(TEN.under_way(&burst(0)), 90);
    }

    #[test]
    fn after_a_pause_less_is_enough() {
        assert_eq!([0, 1, 4].map(|level| TEN.recalling(level).unused), [10, 2, 2]);
        assert_eq!([100, 1, 0].map(|unused| Tolerance { unused, ..TEN }.recalling(1).unused), [25, 1, 0]);
    }
}
