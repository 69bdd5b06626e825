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
pub(super) fn schema() -> [(&'static str, Value); 7] {
    [
        ("last_success_at", Option::<Instant>::schema()),
        ("last_failure_at", Option::<Instant>::schema()),
        ("failing_since", Option::<Instant>::schema()),
        ("consecutive_failures", json!({ "type": "integer" })),
        ("circuit", json!({ "enum": ["closed", "open", "half_open"] })),
        ("silent_until", Option::<Instant>::schema()),
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
            "silent_until": self.silent_until.filter(|until| now < *until).map(timestamp),
            "certificate_expires_at": self.certificate_expires_at.map(timestamp),
        }
    }

    /// Deliveries to an endpoint that has asked for silence are held as those behind an open circuit are.
    fn circuit(&self, now: DateTime<Utc>) -> &'static str {
        match self.open_until.max(self.silent_until) {
            None => "closed",
            Some(until) if now < until => "open",
            Some(_) => "half_open",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn an_open_circuit_tries_again_when_its_time_has_come_and_so_does_silence() {
        for (open, silent, circuit) in [
            (None, None, "closed"),
            (Some(101), None, "open"),
            (Some(100), None, "half_open"),
            (None, Some(101), "open"),
            (None, Some(100), "half_open"),
            (Some(99), Some(101), "open"),
            (Some(101), Some(99), "open"),
        ] {
            let condition = Condition {
                subscription: uuid::Uuid::nil().into(),
                url: String::new(),
                last_success_at: None,
                last_failure_at: None,
                failing_since: None,
                consecutive_failures: 0,
                open_until: open.map(second),
                silent_until: silent.map(second),
                certificate_expires_at: None,
                waiting: 0,
            };
            let shown = condition.present(second(100));
            assert_eq!(shown["circuit"], circuit);
            assert_eq!(shown["silent_until"].is_string(), silent == Some(101));
        }
    }
}
