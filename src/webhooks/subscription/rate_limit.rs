//! The rate limit of an endpoint, in attempts per second.

use serde_json::json;

/// 1 to 1000 attempts per second. Attempts are spread evenly: at most a tenth of the limit begins at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "i16")]
#[sqlx(transparent)]
pub struct RateLimit(i16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The rate_limit must be 1 to 1000 attempts per second, or null for no limit.")]
pub struct InvalidRateLimit;

crate::field_type!(RateLimit => Self, json!({ "type": "integer", "minimum": 1, "maximum": 1000 }));

impl TryFrom<i16> for RateLimit {
    type Error = InvalidRateLimit;

    fn try_from(a_second: i16) -> Result<Self, InvalidRateLimit> {
        if (1..=1000).contains(&a_second) { Ok(Self(a_second)) } else { Err(InvalidRateLimit) }
    }
}
