//! How long a rotated secret or key stays valid beside its replacement.

use chrono::TimeDelta;
use serde::Deserialize;

/// 30 days, in seconds.
const LONGEST: u32 = 30 * 86_400;

/// The number of seconds for which an old secret or key stays valid beside the new one. Defaults to one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct Overlap(TimeDelta);

/// The number is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The overlap is at most {LONGEST} seconds.")]
pub struct NotAnOverlap;

impl Default for Overlap {
    fn default() -> Self {
        Self(TimeDelta::days(1))
    }
}

impl TryFrom<u32> for Overlap {
    type Error = NotAnOverlap;

    fn try_from(seconds: u32) -> Result<Self, NotAnOverlap> {
        if seconds <= LONGEST { Ok(Self(TimeDelta::seconds(seconds.into()))) } else { Err(NotAnOverlap) }
    }
}

impl From<Overlap> for TimeDelta {
    fn from(overlap: Overlap) -> Self {
        overlap.0
    }
}
