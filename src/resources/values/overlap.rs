//! How long what was replaced goes on beside what replaced it.

use chrono::TimeDelta;
use serde::Deserialize;

/// Longer than this nobody needs two secrets.
const LONGEST: u32 = 30 * 86_400;

/// Seconds for which an old secret or key stays valid beside the new one: a day, unless somebody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct Overlap(TimeDelta);

/// The number is no overlap.
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
