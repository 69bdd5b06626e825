//! Numbers that have bounds.

use serde::Deserialize;

/// A number from `MIN` to `MAX`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Within<const MIN: i32, const MAX: i32>(f64);

/// The number is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be a number from {min} to {max}.")]
pub struct OutOfRange {
    min: i32,
    max: i32,
}

impl<const MIN: i32, const MAX: i32> TryFrom<f64> for Within<MIN, MAX> {
    type Error = OutOfRange;

    fn try_from(number: f64) -> Result<Self, OutOfRange> {
        let range = f64::from(MIN)..=f64::from(MAX);
        range.contains(&number).then_some(Self(number)).ok_or(OutOfRange { min: MIN, max: MAX })
    }
}

impl<const MIN: i32, const MAX: i32> From<Within<MIN, MAX>> for f64 {
    fn from(within: Within<MIN, MAX>) -> Self {
        within.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_bounds() {
        let latitude = |number: f64| Within::<-90, 90>::try_from(number).is_ok();
        assert!(latitude(-90.0) && latitude(90.0) && latitude(-0.0));
        assert!(!latitude(90.000_001) && !latitude(f64::NAN) && !latitude(f64::INFINITY));
    }
}
