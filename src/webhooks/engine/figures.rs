//! The figures of an endpoint: its counters, and what its recent attempts say.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::SubscriptionId;

#[derive(Debug)]
pub struct Figures {
    pub attempts: i64,
    pub succeeded: i64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub last_success_at: Option<DateTime<Utc>>,
    pub last_failure_at: Option<DateTime<Utc>>,
    pub failing_since: Option<DateTime<Utc>>,
    pub consecutive_failures: i32,
    pub open_until: Option<DateTime<Utc>>,
}

/// Reads the counters of an endpoint, and computes the figures over the attempts of its deliveries since `since`.
pub async fn find_figures(conn: &mut PgConnection, subscription: SubscriptionId, since: DateTime<Utc>) -> Result<Figures, sqlx::Error> {
    sqlx::query_as!(
        Figures,
        r#"with recent as (
             (select id from deliveries
              where subscription_id = $1 and replay_of is null and created_at >= $2 and id >= uuid_v7_floor($2)
              order by created_at desc, id desc limit 1000)
             union all
             (select id from waiting where subscription_id = $1 and replay_of is null and attempts > 0 and created_at >= $2
              order by created_at desc, id desc limit 1000)
         ), made as (
             select attempts.duration_ms, attempts.error is null and attempts.status between 200 and 299 as succeeded
             from recent join attempts on attempts.delivery_id = recent.id
         ), summary as (
             select count(*) as attempts, count(*) filter (where succeeded) as succeeded,
                    percentile_cont(0.5) within group (order by duration_ms) as p50_ms,
                    percentile_cont(0.95) within group (order by duration_ms) as p95_ms
             from made
         )
         select summary.attempts as "attempts!", summary.succeeded as "succeeded!", summary.p50_ms, summary.p95_ms,
                endpoints.last_success_at, endpoints.last_failure_at, endpoints.failing_since, endpoints.consecutive_failures,
                endpoints.open_until
         from endpoints cross join summary where endpoints.subscription_id = $1"#,
        subscription.uuid(),
        since,
    )
    .fetch_one(conn)
    .await
}
