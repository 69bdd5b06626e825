//! The limits of a store's texts, and their pause. Operators set them, and the SMS guard obeys.

use chrono::{DateTime, TimeDelta, Utc};

/// The start of a pause of a store's texts, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    pub since: DateTime<Utc>,
    pub reason: String,
}

#[derive(Clone, Debug)]
pub struct TextLimits {
    pub pause: Option<Pause>,
    /// When an operator last ended a pause.
    pub resumed_at: Option<DateTime<Utc>>,
    pub countries: Vec<String>,
    pub between_texts: TimeDelta,
    pub per_number_and_hour: i64,
    pub per_number_and_day: i64,
    pub numbers_per_range: i64,
    pub per_day: i64,
}
