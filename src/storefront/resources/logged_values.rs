//! What the logs of texts and sign-ins know, as fields that lists are filtered by: each is read in any spelling, and refused if no entry can have it.

use std::net::{AddrParseError, IpAddr};

use serde::Deserialize;
use serde_json::json;

use crate::kernel::problem::ProblemCode;
use crate::resources::FilterForm;

/// The address of a client.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct LoggedAddress(IpAddr);

impl TryFrom<String> for LoggedAddress {
    type Error = AddrParseError;

    fn try_from(text: String) -> Result<Self, AddrParseError> {
        text.trim().parse::<IpAddr>().map(|address| Self(address.to_canonical()))
    }
}

impl From<LoggedAddress> for String {
    fn from(address: LoggedAddress) -> Self {
        address.0.to_string()
    }
}

/// How an attempt to sign in ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct LoggedOutcome(String);

/// The text is neither `signed_in` nor the code of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be signed_in or the code of a problem.")]
pub struct InvalidOutcome;

impl TryFrom<String> for LoggedOutcome {
    type Error = InvalidOutcome;

    fn try_from(text: String) -> Result<Self, InvalidOutcome> {
        let is_outcome = text == "signed_in" || ProblemCode::ALL.iter().any(|code| code.as_str() == text);
        is_outcome.then_some(Self(text)).ok_or(InvalidOutcome)
    }
}

impl From<LoggedOutcome> for String {
    fn from(outcome: LoggedOutcome) -> Self {
        outcome.0
    }
}

/// The beginning of phone numbers, which are sold together.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct NumberRange(String);

/// The text is not the beginning of a phone number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be the beginning of a phone number, such as +4915112.")]
pub struct InvalidNumberRange;

impl TryFrom<String> for NumberRange {
    type Error = InvalidNumberRange;

    fn try_from(text: String) -> Result<Self, InvalidNumberRange> {
        let text = text.trim();
        let digits: String = text.strip_prefix('+').unwrap_or(text).chars().filter(|character| !matches!(character, ' ' | '-')).collect();
        let is_range = (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_range.then(|| Self(format!("+{digits}"))).ok_or(InvalidNumberRange)
    }
}

impl From<NumberRange> for String {
    fn from(range: NumberRange) -> Self {
        range.0
    }
}

crate::field_type!(LoggedAddress => String, json!({ "type": "string" }), filtered by FilterForm::text::<LoggedAddress>("an IP address"));
crate::field_type!(
    LoggedOutcome => String,
    json!({ "type": "string" }),
    filtered by FilterForm::text::<LoggedOutcome>("signed_in or the code of a problem")
);
crate::field_type!(NumberRange => String, json!({ "type": "string" }), filtered by FilterForm::text::<NumberRange>("the beginning of a phone number"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_ends_with_a_session_or_a_problem() {
        let outcome = |text: &str| LoggedOutcome::try_from(text.to_owned()).map(String::from);
        for word in ["signed_in", "credentials_invalid"] {
            assert_eq!(outcome(word), Ok(word.to_owned()));
        }
        for wrong in ["", "bogus", "Signed in"] {
            assert_eq!(outcome(wrong), Err(InvalidOutcome), "{wrong:?}");
        }
    }

    #[test]
    fn addresses_and_ranges_have_one_spelling() {
        let address = |text: &str| LoggedAddress::try_from(text.to_owned()).map(String::from).ok();
        assert_eq!(address("2001:DB8:0::1").as_deref(), Some("2001:db8::1"));
        assert_eq!(address("::ffff:9.0.0.1").as_deref(), Some("9.0.0.1"));
        assert_eq!((address("9.0.0"), address("")), (None, None));
        let range = |text: &str| NumberRange::try_from(text.to_owned()).map(String::from);
        for spelling in ["+4915112", " 49 151-12", "4915112"] {
            assert_eq!(range(spelling), Ok("+4915112".to_owned()), "{spelling:?}");
        }
        for wrong in ["", "+", "Germany", "+49x"] {
            assert_eq!(range(wrong), Err(InvalidNumberRange), "{wrong:?}");
        }
    }
}
