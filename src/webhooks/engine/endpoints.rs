//! The rows of endpoints: how each one is doing, and since when operators know.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, SubscriptionId};

/// The NOTIFY channel for endpoints that are no longer paused, for which deliveries may wait that became due long ago.
pub const RESUMED: &str = "portico_resumed";

/// Inserts the row of a new subscription's endpoint.
pub async fn insert(conn: &mut Connection, subscription: SubscriptionId, paused: bool) -> Result<(), sqlx::Error> {
    sqlx::query!("insert into endpoints (subscription_id, paused) values ($1, $2)", subscription.uuid(), paused).execute(conn).await?;
    Ok(())
}

/// Holds the deliveries of the endpoint, or no longer. It waits for whoever moves them: what is not in flight by then stays.
pub async fn set_paused(conn: &mut Connection, subscription: SubscriptionId, paused: bool) -> Result<(), sqlx::Error> {
    sqlx::query!("update endpoints set paused = $2 where subscription_id = $1 and paused <> $2", subscription.uuid(), paused)
        .execute(conn)
        .await?;
    Ok(())
}

/// Holds the deliveries of all webhooks of a company, whatever the webhooks say themselves.
pub async fn hold_all(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with of_company as materialized (
             select subscription_id from endpoints where not paused
             and subscription_id in (select subscription_id from subscription_endpoints where company_id = $1)
             order by subscription_id for no key update
         )
         update endpoints set paused = true from of_company where endpoints.subscription_id = of_company.subscription_id",
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Holds them no longer, except those of webhooks that are paused.
pub async fn release_all(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with of_company as materialized (
             select subscription_id from endpoints where paused
             and subscription_id in (select subscription_id from subscription_endpoints where company_id = $1 and paused_at is null)
             order by subscription_id for no key update
         )
         update endpoints set paused = false from of_company where endpoints.subscription_id = of_company.subscription_id",
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether none of the endpoints of a company has a delivery in flight, or deliveries that are being cancelled.
pub async fn are_at_rest(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select not exists (select from in_flight where company_id = $1)
           and not exists (
               select from endpoints join subscription_endpoints using (subscription_id)
               where company_id = $1 and cancelled_before is not null
           ) as "rest!""#,
        company.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// Wakes the workers of all instances when the transaction commits.
pub async fn notify_resumed(conn: &mut Connection) -> Result<(), sqlx::Error> {
    sqlx::query!("select pg_notify(own_channel($1), '')", RESUMED).execute(conn).await?;
    Ok(())
}

/// Locks the row of the endpoint: until the transaction ends, no other transaction moves its deliveries between tables.
pub async fn lock(conn: &mut Connection, subscription: SubscriptionId) -> Result<(), sqlx::Error> {
    sqlx::query!("select from endpoints where subscription_id = $1 for no key update", subscription.uuid()).execute(conn).await?;
    Ok(())
}

/// Resets the health of the endpoint, because enabling a subscription implies that its endpoint works. What it has asked for is forgotten.
pub async fn reset_health(conn: &mut Connection, subscription: SubscriptionId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update endpoints set consecutive_failures = 0, failing_since = null, open_until = null, silent_until = null,
                              held_until = case when held_until is not null then '-infinity'::timestamptz end
         where subscription_id = $1",
        subscription.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets the certificate of the endpoint and what it has asked for, because its URL is another.
pub async fn forget_what_it_told(conn: &mut Connection, subscription: SubscriptionId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update endpoints set certificate_expires_at = null, silent_until = null where subscription_id = $1",
        subscription.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The failures of an endpoint between two successes.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    /// The first failure since the last success.
    pub failing_since: Option<DateTime<Utc>>,
    pub last_failure_at: Option<DateTime<Utc>>,
    pub last_success_at: Option<DateTime<Utc>>,
    /// The percentage that operators were last notified of; 0 for none.
    pub noticed_percent: i16,
    /// The `failing_since` of the episode that they were notified of.
    pub noticed_since: Option<DateTime<Utc>>,
}

/// An endpoint with a notice that may be due.
#[derive(Debug)]
pub struct Suspect {
    pub company: CompanyId,
    pub subscription: SubscriptionId,
    pub episode: Episode,
}

/// Endpoints that have been failing for at least two days, and those whose operators have been notified.
pub async fn list_suspects(conn: &mut Connection) -> Result<Vec<Suspect>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select company_id as "company!: CompanyId", subscription_id as "subscription!: SubscriptionId",
                  failing_since, last_failure_at, last_success_at, noticed_percent, noticed_since
           from endpoints join subscription_endpoints using (subscription_id)
           where deleted_at is null
           and (noticed_since is not null or (failing_since is not null and last_failure_at >= failing_since + interval '2 days'))
           order by subscription_id"#,
    )
    .fetch_all(conn)
    .await?;
    let suspect = rows.into_iter().map(|row| Suspect {
        company: row.company,
        subscription: row.subscription,
        episode: Episode {
            failing_since: row.failing_since,
            last_failure_at: row.last_failure_at,
            last_success_at: row.last_success_at,
            noticed_percent: row.noticed_percent,
            noticed_since: row.noticed_since,
        },
    });
    Ok(suspect.collect())
}

/// Reads the episode of an endpoint and locks its row until the transaction ends.
pub async fn lock_episode(conn: &mut Connection, subscription: SubscriptionId) -> Result<Episode, sqlx::Error> {
    sqlx::query_as!(
        Episode,
        "select failing_since, last_failure_at, last_success_at, noticed_percent, noticed_since
         from endpoints where subscription_id = $1 for no key update",
        subscription.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// How the latest failed attempt at an endpoint ended: with a status, or with a word of the attempt log and its reason.
pub async fn find_last_failure(conn: &mut Connection, subscription: SubscriptionId) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!("select last_failure from endpoints where subscription_id = $1", subscription.uuid()).fetch_one(conn).await
}

/// Stores which notice the operators have been given.
pub async fn record_notice(
    conn: &mut Connection,
    subscription: SubscriptionId,
    percent: i16,
    since: Option<DateTime<Utc>>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update endpoints set noticed_percent = $2, noticed_since = $3 where subscription_id = $1",
        subscription.uuid(),
        percent,
        since,
    )
    .execute(conn)
    .await?;
    Ok(())
}
