//! How an endpoint stands at the moment, as responses show it.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use crate::kernel::clock::timestamp;
use crate::members;
use crate::resources::{FieldType, Instant};
use crate::webhooks::engine::figures::Condition;

/// How long before its end a certificate needs a person. Those of ninety days are renewed a month before: by then, renewing has failed for more
/// than a week, and there is time to repair it.
pub const EXPIRES_SOON: TimeDelta = TimeDelta::days(21);

/// The members of [`Condition::present`] with their schemas.
pub(super) fn schema() -> [(&'static str, Value); 6] {
    [
        ("last_success_at", Option::<Instant>::schema()),
        ("last_failure_at", Option::<Instant>::schema()),
        ("failing_since", Option::<Instant>::schema()),
        ("consecutive_failures", json!({ "type": "integer" })),
        ("circuit", json!({ "enum": ["closed", "open", "half_open"] })),
        ("certificate_expires_at", Option::<Instant>::schema()),
    ]
}

impl Condition {
    /// The members of the condition in a response at `now`.
    pub fn present(&self, now: DateTime<Utc>) -> Map<String, Value> {
        members! {
            "last_success_at": self.last_success_at.map(timestamp),
            "last_failure_at": self.last_failure_at.map(timestamp),
            "failing_since": self.failing_since.map(timestamp),
            "consecutive_failures": self.consecutive_failures,
            "circuit": self.circuit(now),
            "certificate_expires_at": self.certificate_expires_at.map(timestamp),
        }
    }

    fn circuit(&self, now: DateTime<Utc>) -> &'static str {
        match self.open_until {
            None => "closed",
            Some(until) if now < until => "open",
            Some(_) => "half_open",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_circuit_tries_again_when_its_time_has_come() {
        for (until, circuit) in [(None, "closed"), (Some(101), "open"), (Some(100), "half_open")] {
            let condition = Condition {
                subscription: uuid::Uuid::nil().into(),
                url: String::new(),
                last_success_at: None,
                last_failure_at: None,
                failing_since: None,
                consecutive_failures: 0,
                open_until: until.and_then(|second| DateTime::from_timestamp(second, 0)),
                certificate_expires_at: None,
                waiting: 0,
            };
            assert_eq!(condition.present(DateTime::from_timestamp(100, 0).unwrap())["circuit"], circuit);
        }
    }
}
