//! What is counted by the hour, and how endpoints stand.

use chrono::{DateTime, TimeDelta, Utc};

use crate::callers::Owner;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, SubscriptionId};

/// The deliveries that wait for an endpoint are counted up to this number.
pub const MAX_COUNTED: i64 = 1_000;

/// How an endpoint stands at the moment.
#[derive(Debug)]
pub struct Condition {
    pub subscription: SubscriptionId,
    pub url: String,
    pub last_success_at: Option<DateTime<Utc>>,
    pub last_failure_at: Option<DateTime<Utc>>,
    pub failing_since: Option<DateTime<Utc>>,
    pub consecutive_failures: i32,
    pub open_until: Option<DateTime<Utc>>,
    /// Until when it has asked to be left alone.
    pub silent_until: Option<DateTime<Utc>>,
    /// The end of the certificate that it presented last.
    pub certificate_expires_at: Option<DateTime<Utc>>,
    /// Deliveries that wait for it, at most [`MAX_COUNTED`].
    pub waiting: i64,
}

/// Attempts that took about the same time, within one step of a period.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// When the step begins.
    pub at: DateTime<Utc>,
    /// The bucket of [`latency`](crate::webhooks::latency).
    pub bucket: i16,
    pub succeeded: i64,
    pub failed: i64,
}

/// How those of the endpoints stand that belong to the company, or to one owner of it, and whose webhooks are not deleted.
pub async fn list_conditions(
    conn: &mut Connection,
    company: CompanyId,
    owner: Option<&Owner>,
    subscriptions: &[SubscriptionId],
) -> Result<Vec<Condition>, sqlx::Error> {
    sqlx::query_as!(
        Condition,
        r#"select endpoints.subscription_id as "subscription: SubscriptionId", url as "url!", last_success_at, last_failure_at,
                  failing_since, consecutive_failures, open_until, silent_until, certificate_expires_at, counted.waiting as "waiting!"
           from endpoints join subscription_endpoints as settings on settings.subscription_id = endpoints.subscription_id
           cross join lateral (
               select count(*) as waiting from (
                   select from waiting where waiting.subscription_id = endpoints.subscription_id limit $3
               ) as first
           ) as counted
           where endpoints.subscription_id = any($1) and company_id = $2 and deleted_at is null
           and ($4::text is null or exists (select from subscription_owners as of_it
                                            where of_it.subscription_id = endpoints.subscription_id and owner = $4))"#,
        subscriptions as &[SubscriptionId],
        company.uuid(),
        MAX_COUNTED,
        owner.map(Owner::as_str),
    )
    .fetch_all(conn)
    .await
}

/// The webhooks of a company, or of one owner of it, whose endpoints are failing, those that have been failing longest first. An index has
/// all that fail.
pub async fn list_failing(
    conn: &mut Connection,
    company: CompanyId,
    owner: Option<&Owner>,
    limit: i64,
) -> Result<Vec<SubscriptionId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select endpoints.subscription_id as "subscription: SubscriptionId"
           from endpoints join subscription_endpoints as settings on settings.subscription_id = endpoints.subscription_id
           where failing_since is not null and company_id = $1 and deleted_at is null
           and ($3::text is null or exists (select from subscription_owners as of_it
                                            where of_it.subscription_id = endpoints.subscription_id and owner = $3))
           order by failing_since limit $2"#,
        company.uuid(),
        limit,
        owner.map(Owner::as_str),
    )
    .fetch_all(conn)
    .await
}

/// The webhooks of a company, or of one owner of it, that are not disabled and whose certificates end before `before`, those that end first at
/// the beginning. An index has all by their end. What ended before `outdated_before` counts only if an attempt has failed since: the endpoint
/// may have another by now.
pub async fn list_expiring(
    conn: &mut Connection,
    company: CompanyId,
    owner: Option<&Owner>,
    (outdated_before, before): (DateTime<Utc>, DateTime<Utc>),
    limit: i64,
) -> Result<Vec<SubscriptionId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select endpoints.subscription_id as "subscription: SubscriptionId"
           from endpoints join subscription_wishes as wishes on wishes.subscription_id = endpoints.subscription_id
           where certificate_expires_at < $2 and (certificate_expires_at >= $3 or last_failure_at >= certificate_expires_at)
           and company_id = $1 and ($5::text is null or owner = $5)
           order by certificate_expires_at limit $4"#,
        company.uuid(),
        before,
        outdated_before,
        limit,
        owner.map(Owner::as_str),
    )
    .fetch_all(conn)
    .await
}

/// The attempts of some endpoints since `since`, by steps of this length that are counted from midnight UTC.
pub async fn list_attempts(
    conn: &mut Connection,
    subscriptions: &[SubscriptionId],
    since: DateTime<Utc>,
    step: TimeDelta,
) -> Result<Vec<(SubscriptionId, Count)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select subscription_id as "subscription: SubscriptionId", date_bin($3, hour, to_timestamp(0)) as "at!", bucket,
                  sum(succeeded) as "succeeded!", sum(failed) as "failed!"
           from attempt_hours where subscription_id = any($1) and hour >= $2 group by 1, 2, 3 order by 1, 2, 3"#,
        subscriptions as &[SubscriptionId],
        since,
        step as TimeDelta,
    )
    .fetch_all(conn)
    .await?;
    let count = |at, bucket, succeeded, failed| Count { at, bucket, succeeded, failed };
    Ok(rows.into_iter().map(|row| (row.subscription, count(row.at, row.bucket, row.succeeded, row.failed))).collect())
}

/// The attempts of all endpoints of a company.
pub async fn list_attempts_of_company(
    conn: &mut Connection,
    company: CompanyId,
    since: DateTime<Utc>,
    step: TimeDelta,
) -> Result<Vec<Count>, sqlx::Error> {
    sqlx::query_as!(
        Count,
        r#"select date_bin($3, hour, to_timestamp(0)) as "at!", bucket, sum(succeeded) as "succeeded!", sum(failed) as "failed!"
           from attempt_hours where company_id = $1 and hour >= $2 group by 1, 2 order by 1, 2"#,
        company.uuid(),
        since,
        step as TimeDelta,
    )
    .fetch_all(conn)
    .await
}

/// The number of events of a company in each step that had any.
pub async fn list_events(
    conn: &mut Connection,
    company: CompanyId,
    since: DateTime<Utc>,
    step: TimeDelta,
) -> Result<Vec<(DateTime<Utc>, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select date_bin($3, hour, to_timestamp(0)) as "at!", sum(events)::bigint as "events!"
           from event_hours where company_id = $1 and hour >= $2 group by 1 order by 1"#,
        company.uuid(),
        since,
        step as TimeDelta,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.at, row.events)).collect())
}

/// Deletes the counts of attempts in hours before `kept_since`.
pub async fn delete_attempts(conn: &mut Connection, kept_since: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from attempt_hours where hour < $1", kept_since).execute(conn).await?;
    Ok(())
}

/// Deletes the counts of events in hours before `kept_since`.
pub async fn delete_events(conn: &mut Connection, kept_since: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from event_hours where hour < $1", kept_since).execute(conn).await?;
    Ok(())
}
