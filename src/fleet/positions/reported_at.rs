//! When a position was recorded, as the apps of drivers say it.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::resources::Instant;

/// Smaller numbers are seconds, others milliseconds: as seconds this is the year 5138, as milliseconds 1973.
const MOST_SECONDS: f64 = 100_000_000_000.0;

/// An RFC 3339 instant, or the seconds or milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct ReportedAt(Instant);

/// The value is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be an instant such as 2026-05-21T10:15:00.000+00:00, or the milliseconds since 1970.")]
pub struct InvalidReportedAt;

impl ReportedAt {
    /// The JSON Schema.
    pub(super) fn schema() -> Value {
        json!({ "type": ["string", "number", "null"], "description": "The same as `recorded_at`, also as seconds or milliseconds since 1970." })
    }
}

impl TryFrom<Value> for ReportedAt {
    type Error = InvalidReportedAt;

    fn try_from(value: Value) -> Result<Self, InvalidReportedAt> {
        let instant: Option<Instant> = match value {
            Value::String(text) => text.parse().ok(),
            Value::Number(number) => number.as_f64().and_then(since_1970).and_then(|at| at.try_into().ok()),
            _ => None,
        };
        instant.map(Self).ok_or(InvalidReportedAt)
    }
}

fn since_1970(number: f64) -> Option<DateTime<Utc>> {
    let milliseconds = if number.abs() < MOST_SECONDS { number * 1000.0 } else { number };
    DateTime::from_timestamp_millis(milliseconds as i64)
}

impl From<ReportedAt> for Instant {
    fn from(reported: ReportedAt) -> Self {
        reported.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::clock::timestamp;

    #[test]
    fn an_instant_is_read_in_the_forms_that_apps_send() {
        let read = |value: Value| ReportedAt::try_from(value).map(|at| timestamp(DateTime::from(Instant::from(at))));
        let at = "2026-05-21T10:15:00.250+00:00";
        for form in
            [json!("2026-05-21T12:15:00.250+02:00"), json!(1_779_358_500_250_i64), json!(1_779_358_500_250.7), json!(1_779_358_500.25)]
        {
            assert_eq!(read(form.clone()).as_deref(), Ok(at), "{form}");
        }
        for wrong in [json!("today"), json!(1e300), json!(true), json!({}), json!("1779358500")] {
            assert_eq!(read(wrong.clone()), Err(InvalidReportedAt), "{wrong}");
        }
    }
}
