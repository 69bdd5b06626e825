//! Moves deliveries out of flight: closed, or back into the queue. Moves the next ones of the same endpoints into flight.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId, WorkerId};
use crate::webhooks::engine::claim::{ClaimedRow, oldest_recent};
use crate::webhooks::engine::record::Columns;
use crate::webhooks::engine::refill::Refill;

/// The limits that recording applies to endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The circuit opens after this many consecutive failures,
    pub opens_after: i32,
    /// and stays open for this long.
    pub cool_down: TimeDelta,
    /// The longest time that an endpoint is left alone because it asked for it.
    pub silence: TimeDelta,
}

/// Logs attempts and moves their deliveries to the next state where the lease still holds; returns how many. A delivery that was
/// cancelled in flight is not retried. The health of each endpoint is written once for all its attempts; replays do not affect it. Of the
/// certificates that an endpoint presented, the one that ends first counts. An endpoint is left alone until the last instant that it has named in
/// any answer, those to replays included. A success of a delivery that was in flight does not change that.
///
/// For the endpoints of `refill`, first attempts are claimed within their rooms, with the time from which each of them was due. An endpoint that has a rate limit, is paused or has asked for silence, or at which an attempt failed, is left to ordinary claims.
pub async fn record_attempts(
    conn: &mut Connection,
    columns: &Columns,
    refill: &Refill,
    limits: Limits,
    worker: WorkerId,
    now: DateTime<Utc>,
) -> Result<(u64, Vec<(DateTime<Utc>, ClaimedRow)>), sqlx::Error> {
    let rows = sqlx::query!(
        r#"with results as (
             select * from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::integer[], $7::smallint[],
                                  $8::text[], $9::text[], $10::text[], $11::bytea[], $12::text[], $13::timestamptz[], $21::smallint[],
                                  $22::timestamptz[], $26::text[], $27::smallint[], $28::timestamptz[])
             as results (attempt_id, delivery_id, number, started_at, ended_at, duration_ms, status, error,
                         request_headers, response_headers, response_body, state, due_at, bucket, certificate_expires_at,
                         reason, resends, asks_for_silence_until)
         ), endpoint as materialized (
             select subscription_id, in_flight, open_until, silent_until, cancelled_before, paused from endpoints
             where subscription_id = any($14) order by subscription_id for no key update
         ), landed as (
             delete from in_flight using results
             where in_flight.id = results.delivery_id and in_flight.attempts = results.number and (select count(*) from endpoint) > 0
             returning in_flight.*, results.*,
                       case when results.state = 'retrying' and in_flight.cancelled then 'cancelled' else results.state end as next
         ), logged as (
             insert into attempts (id, delivery_id, number, started_at, duration_ms, status, error, reason, resends,
                                   request_headers, response_headers, response_body)
             select attempt_id, delivery_id, number, started_at, duration_ms, status, error, reason, resends,
                    request_headers, response_headers, response_body
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
                    case when next = 'failed' and cancelled then 'cancelled' else next end, attempts, created_at, $15
             from landed where next <> 'retrying'
         ), counted_by_hour as (
             insert into attempt_hours as hours (subscription_id, hour, bucket, company_id, succeeded, failed)
             select subscription_id, date_trunc('hour', ended_at, 'UTC') as hour, bucket, company_id,
                    count(*) filter (where state = 'delivered'), count(*) filter (where state <> 'delivered')
             from landed where replay_of is null group by 1, 2, 3, 4 order by 1, 2, 3
             on conflict (subscription_id, hour, bucket) do update
             set succeeded = hours.succeeded + excluded.succeeded, failed = hours.failed + excluded.failed
         ), of_each as (
             select subscription_id, count(*)::integer as deliveries,
                    max(ended_at) filter (where state = 'delivered' and replay_of is null) as succeeded_at,
                    max(ended_at) filter (where state <> 'delivered' and replay_of is null) as failed_at,
                    min(certificate_expires_at) as certificate_expires_at, max(asks_for_silence_until) as asks_for_silence_until,
                    (array_agg(coalesce(status::text, concat_ws(' ', error, reason)) order by ended_at desc)
                     filter (where state <> 'delivered' and replay_of is null))[1] as failure
             from landed group by subscription_id
         ), failed as (
             select subscription_id, count(*)::integer as failures, min(ended_at) as first_at
             from landed join of_each using (subscription_id)
             where state <> 'delivered' and replay_of is null and ended_at > coalesce(succeeded_at, '-infinity')
             group by subscription_id
         ), refill as (
             select subscription_id, settings.version, due_from,
                    greatest(0, least(most, wanted.in_flight - endpoint.in_flight + of_each.deliveries)) as room
             from unnest($18::uuid[], $19::timestamptz[], $20::integer[], $25::integer[]) as wanted (subscription_id, due_from, most, in_flight)
             join of_each using (subscription_id)
             join endpoint using (subscription_id)
             join subscription_endpoints as settings using (subscription_id)
             where failed_at is null and open_until is null and silent_until is null and asks_for_silence_until is null
             and cancelled_before is null and not paused and rate_limit is null
         ), taken as (
             delete from waiting where id = any(array(
                 select due.id from refill
                 cross join lateral (
                     select id from waiting
                     where lane = 0 and waiting.subscription_id = refill.subscription_id and due_at >= refill.due_from
                     order by due_at limit refill.room
                 ) as due
             ))
             returning id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts, failures, created_at, due_at
         ), flown as (
             insert into in_flight (id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts, failures,
                                    worker, claimed_at, created_at)
             select id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts + 1, failures, $23, $15, created_at
             from taken
         ), refilled as (
             select subscription_id, count(*)::integer as deliveries from taken group by subscription_id
         ), noted as (
             update endpoints
             set in_flight = endpoints.in_flight - of_each.deliveries + coalesce(refilled.deliveries, 0),
                 consecutive_failures = coalesce(failures, 0) + case when succeeded_at is null then consecutive_failures else 0 end,
                 failing_since = case when succeeded_at is null then coalesce(failing_since, first_at) else first_at end,
                 last_success_at = greatest(last_success_at, succeeded_at),
                 last_failure_at = greatest(last_failure_at, failed_at),
                 last_failure = coalesce(failure, last_failure),
                 certificate_expires_at = coalesce(of_each.certificate_expires_at, endpoints.certificate_expires_at),
                 open_until = case when succeeded_at is null and failed_at is null then open_until
                                   when coalesce(failures, 0) + case when succeeded_at is null then consecutive_failures else 0 end >= $16
                                   then $15 + $17::interval end,
                 silent_until = greatest(
                     asks_for_silence_until,
                     case when silent_until <= $15 + $29::interval and (silent_until > $15 or succeeded_at is null) then silent_until end
                 ),
                 held_until = case when held_until is null or (succeeded_at is null and failed_at is null) then held_until
                                   when coalesce(failures, 0) + case when succeeded_at is null then consecutive_failures else 0 end >= $16
                                   then $15 + $17::interval
                                   else $15 end
             from of_each left join failed using (subscription_id) left join refilled using (subscription_id)
             where endpoints.subscription_id = of_each.subscription_id
         )
         select summary.recorded as "recorded!", taken.due_at as "due_at?",
                taken.id as "delivery?: DeliveryId", taken.company_id as "company?: CompanyId",
                taken.subscription_id as "subscription?: SubscriptionId", taken.event_id as "event?: EventId", taken.event as "event_name?",
                taken.sequence as "sequence?", taken.attempts + 1::smallint as "number?", taken.failures as "failures?",
                taken.chain is not null as "in_order?", refill.version as "version?",
                case when row_number() over (partition by taken.event_id) = 1
                then (select body from event_stream where id = taken.event_id and id >= $24) end as "body?"
         from (select count(*) as recorded from landed) as summary
         left join (taken join refill using (subscription_id)) on true"#,
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
        limits.opens_after,
        limits.cool_down as TimeDelta,
        &refill.subscriptions,
        &refill.due_from,
        &refill.most,
        &columns.buckets,
        &columns.certificates as &[Option<DateTime<Utc>>],
        worker.uuid(),
        oldest_recent(now),
        &refill.in_flight,
        &columns.reasons as &[Option<&str>],
        &columns.resends,
        &columns.asks_for_silence_until as &[Option<DateTime<Utc>>],
        limits.silence as TimeDelta,
    )
    .fetch_all(conn)
    .await?;
    let recorded = rows.first().map_or(0, |row| row.recorded.unsigned_abs());
    let claimed = rows.into_iter().filter_map(|row| {
        let claimed = ClaimedRow {
            delivery: row.delivery?,
            company: row.company?,
            subscription: row.subscription?,
            event: row.event?,
            event_name: row.event_name?,
            sequence: row.sequence,
            number: row.number?,
            failures: row.failures?,
            in_order: row.in_order?,
            is_replay: false,
            version: row.version?,
            body: row.body,
        };
        Some((row.due_at?, claimed))
    });
    Ok((recorded, claimed.collect()))
}
