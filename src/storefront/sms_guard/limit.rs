//! The limits of texts that are counted: which of them is reached, and until when.

use std::fmt;

use chrono::{DateTime, Utc};

use crate::kernel::clock::{seconds_until, timestamp};
use crate::kernel::problem::ProblemCode;

/// A limit that does not allow another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitReached {
    pub(super) limit: Limit,
    /// The value of the setting: seconds for [`Limit::BetweenTexts`], otherwise a number of texts, codes or phone numbers.
    pub(super) allowed: i64,
    /// The value that the guard counted, in the same unit.
    pub(super) seen: i64,
    /// When the limit allows another text.
    pub(super) until: DateTime<Utc>,
    /// Whole seconds from the refusal until then.
    pub(super) seconds: u64,
}

/// The limits. Each corresponds to a setting ([`Limit::setting`]) of the store, or of the deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    BetweenTexts,
    PerNumberAndHour,
    PerNumberAndDay,
    /// Of all stores of the deployment together.
    PerNumberEverywhere,
    NumbersPerRange,
    UnusedPerRange,
    NumbersPerAddress,
    PerCountryAndDay,
    UnusedPerCountry,
    UnusedPerStore,
    PerDay,
    /// What strangers leave of [`Limit::PerDay`].
    Reserved,
}

impl LimitReached {
    pub(super) fn new(limit: Limit, allowed: i64, seen: i64, until: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self { limit, allowed, seen, until, seconds: seconds_until(until, now) }
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, allowed, seen, until, .. } = self;
        match limit {
            Limit::BetweenTexts => {
                write!(f, "The last text to the number was sent {seen} seconds earlier; the minimum interval is {allowed} seconds.")?;
            }
            limit => write!(f, "{}: {seen}; the limit is {allowed}.", limit.counted())?,
        }
        write!(f, " The next text is allowed at {}.", timestamp(*until))
    }
}

impl Limit {
    #[cfg(test)]
    pub(super) const ALL: [Self; 12] = [
        Self::BetweenTexts,
        Self::PerNumberAndHour,
        Self::PerNumberAndDay,
        Self::PerNumberEverywhere,
        Self::NumbersPerRange,
        Self::UnusedPerRange,
        Self::NumbersPerAddress,
        Self::PerCountryAndDay,
        Self::UnusedPerCountry,
        Self::UnusedPerStore,
        Self::PerDay,
        Self::Reserved,
    ];

    /// What is counted, for operators.
    fn counted(self) -> &'static str {
        match self {
            Self::BetweenTexts => "Seconds since the last text",
            Self::PerNumberAndHour => "Texts sent to the number within one hour",
            Self::PerNumberAndDay => "Texts sent to the number within 24 hours",
            Self::PerNumberEverywhere => "Texts sent to the number within 24 hours by all stores of this deployment",
            Self::NumbersPerRange => "Other numbers of the range texted within ten minutes",
            Self::UnusedPerRange => "Codes under way to strangers of the range",
            Self::NumbersPerAddress => "Strangers' numbers without a used code that the client address asked for within 24 hours",
            Self::PerCountryAndDay => "Texts sent to the country within 24 hours",
            Self::UnusedPerCountry => "Codes under way to strangers of the country",
            Self::UnusedPerStore => "Codes under way to strangers of countries where the store has no customers",
            Self::PerDay => "Texts sent by the store within 24 hours",
            Self::Reserved => "Texts sent by the store to strangers within 24 hours",
        }
    }

    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::BetweenTexts => "seconds_between_texts",
            Self::PerNumberAndHour => "texts_per_number_and_hour",
            Self::PerNumberAndDay => "texts_per_number_and_day",
            Self::PerNumberEverywhere => "daily_texts_per_number",
            Self::NumbersPerRange => "numbers_per_range",
            Self::UnusedPerRange => "unused_codes_per_range",
            Self::NumbersPerAddress => "numbers_per_address_and_day",
            Self::PerCountryAndDay => "texts_per_country_and_day",
            Self::UnusedPerCountry => "unused_codes_per_country",
            Self::UnusedPerStore => "unused_codes_per_store",
            Self::PerDay => "texts_per_day",
            Self::Reserved => "texts_reserved_percent",
        }
    }

    pub(super) fn code(self) -> ProblemCode {
        match self {
            Self::BetweenTexts | Self::PerNumberAndHour | Self::PerNumberAndDay | Self::PerNumberEverywhere => ProblemCode::NumberCooldown,
            Self::NumbersPerRange | Self::UnusedPerRange | Self::PerCountryAndDay | Self::UnusedPerCountry | Self::UnusedPerStore => {
                ProblemCode::RangeCooldown
            }
            Self::NumbersPerAddress => ProblemCode::RateLimited,
            Self::PerDay | Self::Reserved => ProblemCode::TextBudgetUsed,
        }
    }
}
