//! The health of an endpoint, as `GET webhooks/{uuid}` shows it.
//!
//! The counters are maintained when attempts are recorded. The success rate and the durations cover the attempts of the last day.
//! They are computed from the thousand newest closed deliveries and the thousand newest that wait for a retry, so a busy endpoint
//! costs no more than that. Replays are not counted.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::kernel::clock::timestamp;
use crate::kernel::ids::SubscriptionId;
use crate::webhooks::engine::figures::{self, Figures};

/// The age limit of the attempts that are counted.
const HEALTH_WINDOW: TimeDelta = TimeDelta::days(1);

/// The field `health` of a webhook.
pub async fn member(conn: &mut PgConnection, subscription: SubscriptionId, now: DateTime<Utc>) -> Result<Value, sqlx::Error> {
    Ok(figures::find_figures(conn, subscription, now - HEALTH_WINDOW).await?.present(now))
}

impl Figures {
    fn present(&self, now: DateTime<Utc>) -> Value {
        json!({
            "attempts": self.attempts,
            "success_rate": self.success_rate(),
            "p50_ms": self.p50_ms.map(f64::round),
            "p95_ms": self.p95_ms.map(f64::round),
            "last_success_at": self.last_success_at.map(timestamp),
            "last_failure_at": self.last_failure_at.map(timestamp),
            "failing_since": self.failing_since.map(timestamp),
            "consecutive_failures": self.consecutive_failures,
            "circuit": self.circuit(now),
        })
    }

    /// From 0 to 1, in thousandths; null without attempts.
    fn success_rate(&self) -> Option<f64> {
        let thousandths = (self.succeeded * 1000).checked_div(self.attempts)?;
        i32::try_from(thousandths).ok().map(|thousandths| f64::from(thousandths) / 1000.0)
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

    fn health(succeeded: i64, attempts: i64, open_until: Option<i64>) -> Value {
        let open_until = open_until.and_then(|second| DateTime::from_timestamp(second, 0));
        let (p50_ms, p95_ms, last_success_at, last_failure_at, failing_since) = (Some(1.5), None, None, None, None);
        let consecutive_failures = 0;
        let figures = Figures {
            attempts,
            succeeded,
            p50_ms,
            p95_ms,
            last_success_at,
            last_failure_at,
            failing_since,
            consecutive_failures,
            open_until,
        };
        figures.present(DateTime::from_timestamp(100, 0).unwrap())
    }

    #[test]
    fn nothing_tried_is_no_rate_and_an_open_circuit_tries_again_when_its_time_has_come() {
        assert_eq!(health(0, 0, None)["success_rate"], json!(null));
        assert_eq!(health(2, 3, None)["success_rate"], json!(0.666));
        assert_eq!(health(3, 3, None)["success_rate"], json!(1.0));
        for (until, circuit) in [(None, "closed"), (Some(101), "open"), (Some(100), "half_open")] {
            assert_eq!(health(1, 1, until)["circuit"], circuit);
        }
    }
}
