//! Rate limits over a sliding window, counted in Postgres and therefore shared by all instances.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::rate_limit::{RateLimitStatus, Rule};

/// Counts one hit on a bucket if the rule allows it, in a single statement, so that concurrent hits cannot pass together. `$select`
/// is appended to the statement. It reads what [`RateLimitStatus::of`] takes from `counted`, which is one row; its own parameters start at
/// `$5`.
macro_rules! count_hit {
    ($select:literal, $bucket:expr, $rule:expr, $now:expr $(, $more:expr)*) => {
        sqlx::query!(
            r#"with counted as (
             insert into rate_limits as kept (bucket, hits, expires_at)
             values ($1, array[$2::timestamptz], $2::timestamptz + $4::interval)
             on conflict on constraint rate_limits_pkey do update set
               hits = (select coalesce(array_agg(hit order by hit), '{}') from unnest(kept.hits) as hit where hit > $2 - $4::interval)
                      || case when (select count(*) from unnest(kept.hits) as hit where hit > $2 - $4::interval) < $3
                              then array[$2::timestamptz] else '{}' end,
               expires_at = $2::timestamptz + $4::interval,
               refused = (select count(*) from unnest(kept.hits) as hit where hit > $2 - $4::interval) >= $3
             returning cardinality(hits) as hits, hits[1] as oldest, refused
         )
         "# + $select,
            $bucket,
            $now,
            i64::from($rule.limit),
            sqlx::postgres::types::PgInterval::try_from($rule.window).expect("windows are whole microseconds"),
            $($more,)*
        )
    };
}
pub(crate) use count_hit;

/// Counts one hit on `bucket` if the rule allows it.
pub async fn hit(conn: &mut Connection, bucket: &str, rule: Rule, now: DateTime<Utc>) -> Result<RateLimitStatus, sqlx::Error> {
    let counted = count_hit!(r#"select hits as "hits!", oldest as "oldest!", refused as "refused!" from counted"#, bucket, rule, now);
    let counted = counted.fetch_one(conn).await?;
    Ok(RateLimitStatus::of(rule, counted.hits, counted.oldest, counted.refused, now))
}

/// Removes a hit made at `at`, because the action it was counted for did not happen.
pub async fn refund(conn: &mut Connection, bucket: &str, at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    // Removes only one of several hits made at the same instant.
    sqlx::query!(
        "update rate_limits set hits = hits[:array_position(hits, $2) - 1] || hits[array_position(hits, $2) + 1:]
         where bucket = $1 and $2 = any(hits)",
        bucket,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Until when the first of these buckets that is used up refuses hits; `None` if all of them take another one.
pub async fn refused_until(
    conn: &mut Connection,
    buckets: &[String],
    rule: Rule,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, sqlx::Error> {
    let window = sqlx::postgres::types::PgInterval::try_from(rule.window).expect("windows are whole microseconds");
    sqlx::query_scalar!(
        "select max(recent.oldest + $3) from rate_limits,
             lateral (select count(*) as hits, min(hit) as oldest from unnest(rate_limits.hits) as hit where hit > $4::timestamptz - $3::interval) as recent
         where bucket = any($1) and recent.hits >= $2",
        buckets,
        i64::from(rule.limit),
        window,
        now,
    )
    .fetch_one(conn)
    .await
}

/// Forgets all hits on these buckets.
pub async fn clear(conn: &mut Connection, buckets: &[String]) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from rate_limits where bucket = any($1)", buckets).execute(conn).await?;
    Ok(())
}

/// Deletes the buckets whose windows have ended.
pub async fn sweep(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from rate_limits where expires_at < $1", now).execute(conn).await?;
    Ok(())
}
