//! How long a rotated secret or key stays valid beside its replacement.

use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};

const SECONDS_PER_DAY: u32 = 86_400;
const DEFAULT_SECONDS: u32 = SECONDS_PER_DAY;
const MAX_SECONDS: u32 = 30 * SECONDS_PER_DAY;

/// The number of seconds for which an old secret or key stays valid beside the new one. Defaults to one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct GracePeriod(TimeDelta);

/// The number is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The overlap may be at most {MAX_SECONDS} seconds.")]
pub struct InvalidGracePeriod;

impl Default for GracePeriod {
    fn default() -> Self {
        Self(TimeDelta::seconds(DEFAULT_SECONDS.into()))
    }
}

impl GracePeriod {
    /// The JSON Schema.
    pub fn schema() -> Value {
        json!({ "type": "integer", "minimum": 0, "maximum": MAX_SECONDS, "default": DEFAULT_SECONDS })
    }
}

crate::request_type!(GracePeriod, Self::schema());

impl TryFrom<u32> for GracePeriod {
    type Error = InvalidGracePeriod;

    fn try_from(seconds: u32) -> Result<Self, InvalidGracePeriod> {
        if seconds <= MAX_SECONDS { Ok(Self(TimeDelta::seconds(seconds.into()))) } else { Err(InvalidGracePeriod) }
    }
}

impl From<GracePeriod> for TimeDelta {
    fn from(overlap: GracePeriod) -> Self {
        overlap.0
    }
}
