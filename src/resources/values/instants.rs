//! Instants as responses show them.

use std::str::FromStr;

use chrono::{DateTime, Datelike, SubsecRound, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::resources::FieldType;
use crate::resources::field_type::samples::SAMPLE_INSTANT;

/// An RFC 3339 instant, truncated to the milliseconds that responses show. A client can send a value it has read without changing
/// the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Instant(DateTime<Utc>);

/// The text is not an instant, or its year is not between 1 and 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be an instant such as 2026-05-21T10:15:00.000+00:00.")]
pub struct InvalidInstant;

impl FromStr for Instant {
    type Err = InvalidInstant;

    fn from_str(text: &str) -> Result<Self, InvalidInstant> {
        DateTime::parse_from_rfc3339(text).map_err(|_| InvalidInstant)?.to_utc().try_into()
    }
}

impl TryFrom<DateTime<Utc>> for Instant {
    type Error = InvalidInstant;

    fn try_from(instant: DateTime<Utc>) -> Result<Self, InvalidInstant> {
        (1..=9999).contains(&instant.year()).then_some(Self(instant.trunc_subsecs(3))).ok_or(InvalidInstant)
    }
}

impl TryFrom<String> for Instant {
    type Error = InvalidInstant;

    fn try_from(text: String) -> Result<Self, InvalidInstant> {
        text.parse()
    }
}

impl From<Instant> for DateTime<Utc> {
    fn from(instant: Instant) -> Self {
        instant.0
    }
}

impl FieldType for Instant {
    type Column = DateTime<Utc>;

    fn into_column(self) -> DateTime<Utc> {
        self.0
    }

    fn show(column: &DateTime<Utc>) -> Value {
        timestamp(*column).into()
    }

    fn schema() -> Value {
        json!({ "type": "string", "format": "date-time" })
    }

    fn sample() -> Value {
        SAMPLE_INSTANT.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_the_milliseconds_that_are_shown() {
        let instant = |text: &str| text.parse::<Instant>().map(|instant| timestamp(instant.into()));
        assert_eq!(instant("2026-05-21T12:15:00.123999+02:00").unwrap(), "2026-05-21T10:15:00.123+00:00");
        for text in ["", "2026-05-21", "2026-05-21T10:15:00", "2026-02-30T10:15:00Z", "0000-01-01T00:00:00Z", "1779358500"] {
            assert_eq!(instant(text), Err(InvalidInstant), "{text:?}");
        }
    }
}
