//! The health of an endpoint, as `GET webhooks/{uuid}` shows it.
//!
//! The counters are maintained when attempts are recorded. Success rate and durations are those of the [`figures`] of the last day: of this
//! hour and the 23 before it. Replays are not counted.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, SubscriptionId};
use crate::members;
use crate::webhooks::figures::{self, Period};

/// The field `health` of a webhook.
pub async fn member(
    conn: &mut Connection,
    company: CompanyId,
    subscription: SubscriptionId,
    now: DateTime<Utc>,
) -> Result<Map<String, Value>, sqlx::Error> {
    let found = figures::of_webhooks(conn, company, None, &[subscription], Period::Day, now).await?;
    let Some((condition, figures)) = found.into_iter().next() else { return Ok(Map::new()) };
    let mut members = members! {
        "attempts": figures.total.attempts(),
        "success_rate": figures.total.success_rate(),
        "p50_ms": figures.total.quantile_ms(0.5),
        "p95_ms": figures.total.quantile_ms(0.95),
    };
    members.extend(condition.present(now));
    Ok(members)
}
