//! Moves deliveries out of flight: closed, or back into the queue.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::webhooks::engine::record::Columns;

/// Logs attempts and moves their deliveries to the next state where the lease still holds; returns how many. A delivery that was
/// cancelled in flight is not retried. The health of each endpoint is written once for all its attempts; replays do not affect it.
pub(in crate::webhooks) async fn record_attempts(
    conn: &mut PgConnection,
    columns: &Columns,
    opens_after: i32,
    cool_down: TimeDelta,
    now: DateTime<Utc>,
) -> Result<u64, sqlx::Error> {
    let recorded = sqlx::query_scalar!(
        r#"with results as (
             select * from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::integer[], $7::smallint[],
                                  $8::text[], $9::text[], $10::text[], $11::bytea[], $12::text[], $13::timestamptz[])
             as results (attempt_id, delivery_id, number, started_at, ended_at, duration_ms, status, error,
                         request_headers, response_headers, response_body, state, due_at)
         ), endpoint as materialized (
             select subscription_id from endpoints where subscription_id = any($14) order by subscription_id for no key update
         ), landed as (
             delete from in_flight using results
             where in_flight.id = results.delivery_id and in_flight.attempts = results.number and (select count(*) from endpoint) > 0
             returning in_flight.*, results.*,
                       case when results.state = 'retrying' and in_flight.called_off then 'cancelled' else results.state end as next
         ), logged as (
             insert into attempts (id, delivery_id, number, started_at, duration_ms, status, error,
                                   request_headers, response_headers, response_body)
             select attempt_id, delivery_id, number, started_at, duration_ms, status, error, request_headers, response_headers, response_body
             from landed
         ), repeated as (
             insert into waiting (id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, lane, due_at, attempts,
                                  failures, created_at, updated_at)
             select id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, case when replay_of is null then 1 else 3 end,
                    due_at, attempts, failures + 1, created_at, $15
             from landed where next = 'retrying'
         ), closed as (
             insert into deliveries (id, company_id, subscription_id, event_id, event, sequence, replay_of, state, attempts, created_at, closed_at)
             select id, company_id, subscription_id, event_id, event, sequence, replay_of,
                    case when next = 'failed' and called_off then 'cancelled' else next end, attempts, created_at, $15
             from landed where next <> 'retrying'
         ), of_each as (
             select subscription_id, count(*)::integer as deliveries,
                    max(ended_at) filter (where state = 'delivered' and replay_of is null) as succeeded_at,
                    max(ended_at) filter (where state <> 'delivered' and replay_of is null) as failed_at
             from landed group by subscription_id
         ), health as (
             select of_each.*, since.failures, since.first_at from of_each
             cross join lateral (
                 select count(*)::integer as failures, min(ended_at) as first_at from landed
                 where landed.subscription_id = of_each.subscription_id and state <> 'delivered' and replay_of is null
                 and ended_at > coalesce(succeeded_at, '-infinity')
             ) as since
         ), noted as (
             update endpoints
             set in_flight = endpoints.in_flight - health.deliveries,
                 consecutive_failures = failures + case when succeeded_at is null then consecutive_failures else 0 end,
                 failing_since = case when succeeded_at is null then coalesce(failing_since, first_at) else first_at end,
                 last_success_at = greatest(last_success_at, succeeded_at),
                 last_failure_at = greatest(last_failure_at, failed_at),
                 open_until = case when succeeded_at is null and failed_at is null then open_until
                                   when failures + case when succeeded_at is null then consecutive_failures else 0 end >= $16
                                   then $15 + $17::interval end
             from health where endpoints.subscription_id = health.subscription_id
         )
         select count(*) as "recorded!" from landed"#,
        &columns.ids,
        &columns.deliveries,
        &columns.numbers,
        &columns.started_at,
        &columns.ended_at,
        &columns.durations_ms,
        &columns.statuses as &[Option<i16>],
        &columns.faults as &[Option<&str>],
        &columns.request_headers,
        &columns.response_headers as &[Option<String>],
        &columns.response_bodies as &[Option<Vec<u8>>],
        &columns.states as &[&str],
        &columns.due_at as &[Option<DateTime<Utc>>],
        &columns.subscriptions,
        now,
        opens_after,
        cool_down as TimeDelta,
    )
    .fetch_one(conn)
    .await?;
    Ok(recorded.unsigned_abs())
}
