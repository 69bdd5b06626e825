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

/// Logs attempts that were all acknowledged in whole answers, without replays, and closes their deliveries where the lease still holds; returns how
/// many. Whatever is done here, [`record_attempts`] does in the same way: `tests/it/webhooks/recording.rs` compares them.
pub async fn record_acknowledged(conn: &mut Connection, columns: &Columns, limits: Limits, now: DateTime<Utc>) -> Result<u64, sqlx::Error> {
    let recorded = sqlx::query_file_scalar!(
        "src/webhooks/engine/record/record_acknowledged.sql",
        &columns.ids,
        &columns.deliveries,
        &columns.numbers,
        &columns.started_at,
        &columns.ended_at,
        &columns.durations_ms,
        &columns.buckets,
        &columns.statuses as &[Option<i16>],
        &columns.resends,
        &columns.request_headers,
        &columns.response_headers as &[Option<String>],
        &columns.response_bodies as &[Option<Vec<u8>>],
        &columns.certificates as &[Option<DateTime<Utc>>],
        &columns.subscriptions,
        now,
        limits.silence as TimeDelta,
    )
    .fetch_one(conn)
    .await?;
    Ok(recorded.unsigned_abs())
}

/// Logs attempts of any kind and moves their deliveries to the next state where the lease still holds; returns how many. A delivery that was
/// cancelled in flight is not retried. The health of each endpoint is written once for all its attempts; replays do not affect it. Of the
/// certificates that an endpoint presented, the one that ends first counts. An endpoint is left alone until the last instant that it has named in
/// any answer, those to replays included. A success of a delivery that was in flight does not change that.
///
/// For the endpoints of `refill`, first attempts are claimed within their rooms, with the time from which each of them was due. An endpoint that
/// has a rate limit, is paused or has asked for silence, or at which an attempt failed, is left to ordinary claims.
pub async fn record_attempts(
    conn: &mut Connection,
    columns: &Columns,
    refill: &Refill,
    limits: Limits,
    worker: WorkerId,
    now: DateTime<Utc>,
) -> Result<(u64, Vec<(DateTime<Utc>, ClaimedRow)>), sqlx::Error> {
    let rows = sqlx::query_file!(
        "src/webhooks/engine/record/record_attempts.sql",
        &columns.ids,
        &columns.deliveries,
        &columns.numbers,
        &columns.started_at,
        &columns.ended_at,
        &columns.durations_ms,
        &columns.buckets,
        &columns.statuses as &[Option<i16>],
        &columns.faults as &[Option<&str>],
        &columns.reasons as &[Option<&str>],
        &columns.resends,
        &columns.request_headers,
        &columns.response_headers as &[Option<String>],
        &columns.response_bodies as &[Option<Vec<u8>>],
        &columns.states as &[&str],
        &columns.due_at as &[Option<DateTime<Utc>>],
        &columns.certificates as &[Option<DateTime<Utc>>],
        &columns.asks_for_silence_until as &[Option<DateTime<Utc>>],
        &columns.subscriptions,
        now,
        limits.opens_after,
        limits.cool_down as TimeDelta,
        limits.silence as TimeDelta,
        &refill.subscriptions,
        &refill.due_from,
        &refill.most,
        &refill.in_flight,
        worker.uuid(),
        oldest_recent(now),
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
