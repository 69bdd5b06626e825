//! Figures: what was sent to a webhook, or to all of a company, in a period. Charts are drawn from them, and the health of a webhook is
//! told by those of its last day.
//!
//! They are sums of counts by the hour, which are kept by the statements that record attempts and fan out events. So a period of 30 days
//! costs the same whether there were a thousand attempts or a hundred million. A period ends with the hour that is under way. Replays are
//! not counted, as in the health of the endpoint.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! routes                   of one webhook, of several, of the company
//! series   condition       the counts of a period, step by step; how an endpoint stands
//! period                   how far back, and in which steps
//! ```

mod condition;
mod period;
mod routes;
mod series;

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::callers::Owner;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, SubscriptionId};
use crate::webhooks::engine::figures::{self, Condition, Count};

pub use condition::EXPIRES_SOON;
pub use period::Period;
pub(super) use routes::extension;
pub use series::Figures;

/// How long counts are kept: for the longest period, with the day that is under way.
const RETENTION: TimeDelta = TimeDelta::days(31);

/// How those of the webhooks stand that belong to the company, or to one owner of it, and are not deleted, and their figures; in the order
/// of `webhooks`.
pub async fn of_webhooks(
    conn: &mut Connection,
    company: CompanyId,
    owner: Option<&Owner>,
    webhooks: &[SubscriptionId],
    period: Period,
    now: DateTime<Utc>,
) -> Result<Vec<(Condition, Figures)>, sqlx::Error> {
    let mut conditions = figures::list_conditions(conn, company, owner, webhooks).await?;
    conditions.sort_by_key(|condition| webhooks.iter().position(|webhook| *webhook == condition.subscription));
    let known: Vec<_> = conditions.iter().map(|condition| condition.subscription).collect();
    let mut counts = HashMap::<SubscriptionId, Vec<Count>>::new();
    for (webhook, count) in figures::list_attempts(conn, &known, period.begins_at(now), period.step()).await? {
        counts.entry(webhook).or_default().push(count);
    }
    let with_figures = |condition: Condition| {
        let counts = counts.remove(&condition.subscription).unwrap_or_default();
        (condition, Figures::of(period, now, counts))
    };
    Ok(conditions.into_iter().map(with_figures).collect())
}

/// The figures of all webhooks of a company, and the number of its events.
async fn of_company(conn: &mut Connection, company: CompanyId, period: Period, now: DateTime<Utc>) -> Result<Figures, sqlx::Error> {
    let (since, step) = (period.begins_at(now), period.step());
    let counts = figures::list_attempts_of_company(conn, company, since, step).await?;
    let events = figures::list_events(conn, company, since, step).await?;
    Ok(Figures::of(period, now, counts).with_events(events))
}

/// Deletes the counts of attempts that no period reaches any more.
pub async fn delete_expired_attempts(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    figures::delete_attempts(conn, now - RETENTION).await
}

/// Deletes the counts of events that no period reaches any more.
pub async fn delete_expired_events(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    figures::delete_events(conn, now - RETENTION).await
}
