//! Moves events from the outbox into the queue, or their deliveries directly into flight.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId};
use crate::webhooks::engine::claim::ClaimedRow;
use crate::webhooks::engine::fan_out::FannedOut;

/// The key of the advisory lock that fan-out holds.
const FAN_OUT_LOCK: i64 = 0x0070_6f72_7469_636e;

/// Turns up to `events` events of the outbox into deliveries, oldest first. Only one instance fans out at a time, so a later event
/// about a record is never fanned out before an earlier one. If another instance holds the advisory lock, nothing is done.
///
/// Up to `limit` of the deliveries are taken into flight at once. This requires that the endpoint has capacity, no delivery waits
/// for it, its circuit is closed, it is not paused, and its subscription has neither ordering nor a rate limit. All other deliveries wait
/// to be claimed. An event with an owner is for the webhooks of that owner and those without any, one without an owner for the latter
/// alone. Ordered deliveries wait behind their predecessor, if there is one; their endpoints are locked before any delivery is
/// queued. The first delivery of each event that is taken into flight carries the event's bytes.
pub async fn fan_out(
    conn: &mut Connection,
    events: u16,
    limit: i32,
    in_flight: i32,
    now: DateTime<Utc>,
) -> Result<(FannedOut, Vec<ClaimedRow>), sqlx::Error> {
    // The statement generates the ids as the program does: a time prefix, then random bits.
    let time = &DeliveryId::new(now).uuid().to_string()[..15];
    let rows = sqlx::query!(
        r#"with alone as materialized (
             select pg_try_advisory_xact_lock($3) as alone
         ), drained as (
             delete from outbox
             where position = any(array(select position from outbox where (select alone from alone) order by position limit $1))
             returning position, event_id, company_id, name, subject_id, sequence, owner
         ), counted_by_hour as (
             insert into event_hours as hours (company_id, hour, events)
             select company_id, date_trunc('hour', $2::timestamptz, 'UTC'), count(*) from drained group by company_id order by company_id
             on conflict (company_id, hour) do update set events = hours.events + excluded.events
         ), wanted as materialized (
             select ($4 || substr(gen_random_uuid()::text, 16))::uuid as id, drained.*, wish.subscription_id, wish.version,
                    wish.rate_limit, in_order,
                    case when in_order then uuid_hash_extended(drained.subject_id, 0) end as chain
             from drained
             cross join lateral unnest(array['', drained.owner]) as addressed (audience)
             join subscription_wishes as wish on wish.company_id = drained.company_id and wish.audience = addressed.audience
             cross join lateral (select wish.ordering = 'resource' as in_order) as chained
             where wish.events = '{}' or wish.events && array['*', drained.name, split_part(drained.name, '.', 1) || '.*']
             -- who disables one waits, or is seen: no delivery is made that nobody cancels
             for share of wish
         ), endpoint as materialized (
             select subscription_id, $6::integer - in_flight as room from endpoints
             where subscription_id = any(array(select subscription_id from wanted where in_order or $5 > 0 and rate_limit is null))
             and (subscription_id = any(array(select subscription_id from wanted where in_order))
                  or open_until is null and not paused
                     and (select true from waiting where lane = 0 and waiting.subscription_id = endpoints.subscription_id limit 1) is null)
             order by subscription_id
             for no key update
         ), flying as materialized (
             select * from (
                 select wanted.*, room, row_number() over (partition by subscription_id order by position) as turn
                 from wanted join endpoint using (subscription_id) where not in_order and rate_limit is null
             ) as candidates
             where turn <= room order by turn, position limit $5
         ), flown as (
             insert into in_flight (id, company_id, subscription_id, event_id, event, sequence, attempts, failures, claimed_at, created_at)
             select id, company_id, subscription_id, event_id, name, sequence, 1, 0, $2, $2 from flying
         ), queued as (
             insert into waiting (id, company_id, subscription_id, event_id, event, sequence, chain, lane, due_at, created_at, updated_at)
             select id, company_id, subscription_id, event_id, name, sequence, chain, case when chain is null then 0 else 2 end, $2, $2, $2
             from wanted where id not in (select id from flying) and (select count(*) from endpoint) >= 0
             returning id
         ), counted as (
             update endpoints set in_flight = endpoints.in_flight + of_each.deliveries
             from (select subscription_id, count(*)::integer as deliveries from flying group by subscription_id) as of_each
             where endpoints.subscription_id = of_each.subscription_id
         )
         select summary.events as "events!", summary.deliveries as "deliveries!", summary.queued as "queued!",
                flying.id as "delivery?: DeliveryId", flying.company_id as "company?: CompanyId",
                flying.subscription_id as "subscription?: SubscriptionId", flying.event_id as "event?: EventId", flying.name as "event_name?",
                flying.sequence as "sequence?", flying.version as "version?",
                case when row_number() over (partition by flying.event_id) = 1 then (select body from event_stream where id = flying.event_id)
                end as "body?"
         from (
             select (select count(*) from drained) as events, (select count(*) from wanted) as deliveries,
                    exists (select from queued) as queued
         ) as summary
         left join flying on true"#,
        i64::from(events),
        now,
        FAN_OUT_LOCK,
        time,
        limit,
        in_flight,
    )
    .fetch_all(conn)
    .await?;
    let fanned_out = FannedOut { events: rows[0].events, deliveries: rows[0].deliveries, queued: rows[0].queued };
    let taken = rows.into_iter().filter_map(|row| {
        Some(ClaimedRow {
            delivery: row.delivery?,
            company: row.company?,
            subscription: row.subscription?,
            event: row.event?,
            event_name: row.event_name?,
            sequence: row.sequence,
            number: 1,
            failures: 0,
            in_order: false,
            is_replay: false,
            version: row.version?,
            body: row.body,
        })
    });
    Ok((fanned_out, taken.collect()))
}
