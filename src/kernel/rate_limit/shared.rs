//! Rate limits over a sliding window, counted in Postgres and therefore shared by all instances.

use std::iter;

use chrono::{DateTime, Utc};
use ipnet::IpNet;

use crate::kernel::database::Connection;
use crate::kernel::limit_key::LimitKey;
use crate::kernel::rate_limit::{RateLimitStatus, Rule};

/// Counts one hit on `bucket` if the rule allows it, in a single statement, so that concurrent hits cannot pass together.
pub async fn hit(conn: &mut Connection, bucket: &str, rule: Rule, now: DateTime<Utc>) -> Result<RateLimitStatus, sqlx::Error> {
    let counted = sqlx::query!(
        r#"insert into rate_limits as kept (bucket, hits, expires_at)
         values ($1, array[$2::timestamptz], $2::timestamptz + $4::interval)
         on conflict on constraint rate_limits_pkey do update set
           hits = (select coalesce(array_agg(hit order by hit), '{}') from unnest(kept.hits) as hit where hit > $2 - $4::interval)
                  || case when (select count(*) from unnest(kept.hits) as hit where hit > $2 - $4::interval) < $3
                          then array[$2::timestamptz] else '{}' end,
           expires_at = $2::timestamptz + $4::interval,
           refused = (select count(*) from unnest(kept.hits) as hit where hit > $2 - $4::interval) >= $3
         returning cardinality(hits) as "hits!", hits[1] as "oldest!", refused"#,
        bucket,
        now,
        i64::from(rule.limit),
        sqlx::postgres::types::PgInterval::try_from(rule.window).expect("windows are whole microseconds"),
    )
    .fetch_one(conn)
    .await?;
    Ok(RateLimitStatus::of(rule, counted.hits, counted.oldest, counted.refused, now))
}

/// The networks that a client is counted by, each with its rule: its own, and the larger one.
pub fn by_network(network: IpNet, rule: Rule) -> impl Iterator<Item = (IpNet, Rule)> {
    iter::once((network, rule)).chain(network.larger().map(|larger| (larger, rule.of_larger())))
}

/// Counts one hit of a client on the buckets of its networks, whose names begin with `bucket`. Returns the status of the first that refuses it, or
/// of its own. A hit that one of them refuses is counted on none.
pub async fn hit_network(
    conn: &mut Connection,
    bucket: &str,
    network: IpNet,
    rule: Rule,
    now: DateTime<Utc>,
) -> Result<RateLimitStatus, sqlx::Error> {
    let status = hit(conn, &of_network(bucket, network), rule, now).await?;
    let Some(larger) = network.larger().filter(|_| status.allowed) else { return Ok(status) };
    let status_of_larger = hit(conn, &of_network(bucket, larger), rule.of_larger(), now).await?;
    if status_of_larger.allowed {
        return Ok(status);
    }
    refund(conn, &of_network(bucket, network), now).await?;
    Ok(status_of_larger)
}

/// Removes a hit that [`hit_network`] counted at `at`.
pub async fn refund_network(conn: &mut Connection, bucket: &str, network: IpNet, at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    for network in iter::once(network).chain(network.larger()) {
        refund(conn, &of_network(bucket, network), at).await?;
    }
    Ok(())
}

fn of_network(bucket: &str, network: IpNet) -> String {
    format!("{bucket}:{network}")
}

/// Counts one hit on each of `buckets` if the rule allows it. `None` if it does for all of them, otherwise the status of one that was refused:
/// the caller then rolls the others back.
pub async fn hit_all(
    conn: &mut Connection,
    buckets: &[String],
    rule: Rule,
    now: DateTime<Utc>,
) -> Result<Option<RateLimitStatus>, sqlx::Error> {
    // In one order, so that two such statements do not wait for each other.
    let counted = sqlx::query!(
        r#"with counted as (
             insert into rate_limits as kept (bucket, hits, expires_at)
             select distinct bucket, array[$2::timestamptz], $2::timestamptz + $4::interval from unnest($1::text[]) as bucket order by bucket
             on conflict on constraint rate_limits_pkey do update set
               hits = (select coalesce(array_agg(hit order by hit), '{}') from unnest(kept.hits) as hit where hit > $2 - $4::interval)
                      || case when (select count(*) from unnest(kept.hits) as hit where hit > $2 - $4::interval) < $3
                              then array[$2::timestamptz] else '{}' end,
               expires_at = $2::timestamptz + $4::interval,
               refused = (select count(*) from unnest(kept.hits) as hit where hit > $2 - $4::interval) >= $3
             returning cardinality(hits) as hits, hits[1] as oldest, refused
         )
         select hits as "hits!", oldest as "oldest!" from counted where refused order by oldest desc limit 1"#,
        buckets,
        now,
        i64::from(rule.limit),
        sqlx::postgres::types::PgInterval::try_from(rule.window).expect("windows are whole microseconds"),
    )
    .fetch_optional(conn)
    .await?;
    Ok(counted.map(|refused| RateLimitStatus::of(rule, refused.hits, refused.oldest, true, now)))
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

/// Removes from each of the `buckets` the hits that were made on the buckets `with` too, and forgets those.
pub async fn take_back(conn: &mut Connection, buckets: &[String], with: &[String]) -> Result<(), sqlx::Error> {
    // Of several hits made at the same instant, as many as were made with the others.
    sqlx::query!(
        "with forgotten as (
             delete from rate_limits where bucket = any($2) returning hits
         ), gone as (
             select hit, count(*) as times from forgotten, unnest(hits) as hit group by hit
         )
         update rate_limits set hits = (
             select coalesce(array_agg(counted.hit order by counted.hit), '{}')
             from (select hit, row_number() over (partition by hit) as number from unnest(rate_limits.hits) as hit) as counted
                  left join gone on gone.hit = counted.hit
             where counted.number > coalesce(gone.times, 0)
         )
         where bucket = any($1) and exists (select from gone)",
        buckets,
        with,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets all hits on the buckets that begin with `prefix` and end with one of `suffixes`. It reads every bucket, so only people ask for it.
pub async fn clear(conn: &mut Connection, prefix: &str, suffixes: &[String]) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from rate_limits where starts_with(bucket, $1)
             and exists (select from unnest($2::text[]) as suffix where right(bucket, length(suffix)) = suffix)",
        prefix,
        suffixes,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the buckets whose windows have ended.
pub async fn sweep(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from rate_limits where expires_at < $1", now).execute(conn).await?;
    Ok(())
}
