//! Rate limits over a sliding window, counted in Postgres and therefore shared by all instances.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::kernel::problem::{Problem, ProblemCode};

/// At most `limit` hits in any `window`.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The number of hits allowed.
    pub limit: u32,
    /// The length of the sliding window.
    pub window: TimeDelta,
}

/// The state of a caller's limit after a hit.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// The rule's limit.
    pub limit: u32,
    /// Hits still allowed in this window.
    pub remaining: u32,
    /// The time until the oldest hit leaves the window.
    pub reset: Duration,
    /// Whether this hit was within the limit. A rejected hit is not counted.
    pub allowed: bool,
}

/// Counts one hit on a bucket if the rule allows it, in a single statement, so that concurrent hits cannot pass together. `$select`
/// is appended to the statement. It reads what [`Standing::of`] takes from `counted`, which is one row; its own parameters start at
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
pub async fn hit(conn: &mut PgConnection, bucket: &str, rule: Rule, now: DateTime<Utc>) -> Result<Standing, sqlx::Error> {
    let counted = count_hit!(r#"select hits as "hits!", oldest as "oldest!", refused as "refused!" from counted"#, bucket, rule, now);
    let counted = counted.fetch_one(conn).await?;
    Ok(Standing::of(rule, counted.hits, counted.oldest, counted.refused, now))
}

/// Removes a hit made at `at`, because the action it was counted for did not happen.
pub async fn give_back(conn: &mut PgConnection, bucket: &str, at: DateTime<Utc>) -> Result<(), sqlx::Error> {
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

/// Deletes the buckets whose windows have ended.
pub async fn sweep(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from rate_limits where expires_at < $1", now).execute(conn).await?;
    Ok(())
}

impl Standing {
    /// The standing after a hit at `now`: the window contains `hits` hits. A hit that was `refused` is not among them.
    pub fn of(rule: Rule, hits: i32, oldest: DateTime<Utc>, refused: bool, now: DateTime<Utc>) -> Self {
        Self {
            limit: rule.limit,
            remaining: rule.limit.saturating_sub(u32::try_from(hits).unwrap_or(u32::MAX)),
            reset: (oldest + rule.window - now).to_std().unwrap_or_default(),
            allowed: !refused,
        }
    }

    /// The response to a hit that exceeded the limit.
    pub fn refusal(&self) -> Response {
        let mut refusal = Problem::new(ProblemCode::RateLimited).retry_after(self.retry_after()).into_response();
        self.show(&mut refusal);
        refusal
    }

    /// Whole seconds until another hit is allowed, at least 1.
    pub fn retry_after(&self) -> u64 {
        self.reset.as_secs() + u64::from(self.reset.subsec_nanos() > 0).max(u64::from(self.reset.is_zero()))
    }

    /// Sets the headers `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds).
    pub fn show(&self, response: &mut Response) {
        let values = [u64::from(self.limit), u64::from(self.remaining), self.retry_after()];
        for (name, value) in ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].into_iter().zip(values) {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from(value));
        }
    }
}
