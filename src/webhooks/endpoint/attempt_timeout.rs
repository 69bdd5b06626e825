//! The timeout of one attempt.

use std::time::Duration;

use serde_json::json;

/// The largest timeout in seconds.
const MAX: i16 = 30;
/// How long an attempt takes at most.
pub const LONGEST_ATTEMPT: Duration = Duration::from_secs(MAX.unsigned_abs() as u64);

/// From the DNS lookup to the end of the response: 1 to 30 whole seconds, 15 by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "i16")]
#[sqlx(transparent)]
pub struct AttemptTimeout(i16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The timeout must be 1 to 30 seconds.")]
pub struct InvalidAttemptTimeout;

impl AttemptTimeout {
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0.unsigned_abs().into())
    }
}

impl Default for AttemptTimeout {
    fn default() -> Self {
        Self(15)
    }
}

crate::field_type!(AttemptTimeout => Self, json!({ "type": "integer", "minimum": 1, "maximum": MAX }), initially Self::default());

impl TryFrom<i16> for AttemptTimeout {
    type Error = InvalidAttemptTimeout;

    fn try_from(seconds: i16) -> Result<Self, InvalidAttemptTimeout> {
        if (1..=MAX).contains(&seconds) { Ok(Self(seconds)) } else { Err(InvalidAttemptTimeout) }
    }
}
