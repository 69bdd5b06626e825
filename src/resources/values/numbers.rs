//! Numbers with bounds.

use serde::Deserialize;
use serde_json::json;

use crate::resources::FilterForm;

/// A number from `MIN` to `MAX`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct NumberIn<const MIN: i32, const MAX: i32>(f64);

/// The number is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be a number from {min} to {max}.")]
pub struct NumberOutOfRange {
    min: i32,
    max: i32,
}

impl<const MIN: i32, const MAX: i32> TryFrom<f64> for NumberIn<MIN, MAX> {
    type Error = NumberOutOfRange;

    fn try_from(number: f64) -> Result<Self, NumberOutOfRange> {
        let range = f64::from(MIN)..=f64::from(MAX);
        range.contains(&number).then_some(Self(number)).ok_or(NumberOutOfRange { min: MIN, max: MAX })
    }
}

impl<const MIN: i32, const MAX: i32> From<NumberIn<MIN, MAX>> for f64 {
    fn from(within: NumberIn<MIN, MAX>) -> Self {
        within.0
    }
}

/// An integer from `MIN` to `MAX`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub struct IntegerIn<const MIN: i32, const MAX: i32>(i32);

/// The number is not an integer in the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be a whole number from {min} to {max}.")]
pub struct IntegerOutOfRange {
    min: i32,
    max: i32,
}

impl<const MIN: i32, const MAX: i32> TryFrom<i64> for IntegerIn<MIN, MAX> {
    type Error = IntegerOutOfRange;

    fn try_from(number: i64) -> Result<Self, IntegerOutOfRange> {
        let whole = i32::try_from(number).ok().filter(|number| (MIN..=MAX).contains(number));
        whole.map(Self).ok_or(IntegerOutOfRange { min: MIN, max: MAX })
    }
}

impl<const MIN: i32, const MAX: i32> From<IntegerIn<MIN, MAX>> for i32 {
    fn from(whole: IntegerIn<MIN, MAX>) -> Self {
        whole.0
    }
}

/// How many records there are, for read-only fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Count(u32);

impl From<Count> for i64 {
    fn from(Count(number): Count) -> Self {
        number.into()
    }
}

crate::field_type!(NumberIn<MIN, MAX> => f64, json!({ "type": "number", "minimum": MIN, "maximum": MAX }), filtered by FilterForm::NUMBER; for const MIN: i32, const MAX: i32);
crate::field_type!(IntegerIn<MIN, MAX> => i32, json!({ "type": "integer", "minimum": MIN, "maximum": MAX }), in events json!({ "type": "integer" }), filtered by FilterForm::NUMBER; for const MIN: i32, const MAX: i32);

crate::field_type!(Count => i64, json!({ "type": "integer" }), in events json!({ "type": "integer", "minimum": 0 }), filtered by FilterForm::NUMBER);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_bounds() {
        let latitude = |number: f64| NumberIn::<-90, 90>::try_from(number).is_ok();
        assert!(latitude(-90.0) && latitude(90.0) && latitude(-0.0));
        assert!(!latitude(90.000_001) && !latitude(f64::NAN) && !latitude(f64::INFINITY));
    }

    #[test]
    fn whole_numbers_have_no_parts_and_stay_within_their_bounds() {
        let year = |text: &str| serde_json::from_str::<IntegerIn<1900, 2100>>(text).map(i32::from).ok();
        assert_eq!((year("1900"), year("2100")), (Some(1900), Some(2100)));
        for text in ["1899", "2101", "2000.5", "\"2000\"", "99999999999"] {
            assert_eq!(year(text), None, "{text}");
        }
    }
}
