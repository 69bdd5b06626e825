//! The limits of a store's texts, and their pause. Operators set them, and the SMS guard obeys.

use chrono::{DateTime, TimeDelta, Utc};

/// The start of a pause of a store's texts by an operator, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    pub since: DateTime<Utc>,
    pub reason: String,
}

/// The opening of a store: many strangers at once are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    pub until: DateTime<Utc>,
    /// Unused codes that may be under way meanwhile.
    pub texts: i64,
}

#[derive(Clone, Debug)]
pub struct TextLimits {
    pub pause: Option<Pause>,
    pub countries: Vec<String>,
    pub between_texts: TimeDelta,
    pub per_number_and_hour: i64,
    pub per_number_and_day: i64,
    pub numbers_per_range: i64,
    pub numbers_per_address_and_day: i64,
    pub per_country_and_day: i64,
    pub per_day: i64,
    /// What strangers leave of it, in percent.
    pub reserved_percent: i64,
    pub unused_codes_per_range: i64,
    pub unused_codes_per_country: i64,
    pub unused_codes_per_store: i64,
    /// The least percentage of codes that customers use.
    pub used_codes_percent: i64,
    pub opening: Option<Opening>,
}
