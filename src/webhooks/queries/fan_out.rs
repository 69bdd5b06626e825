//! From the outbox to the queue, or into flight.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId};
use crate::webhooks::claim::Taken;
use crate::webhooks::fan_out::FannedOut;

/// The advisory lock of whoever fans out.
const FANNING_OUT: i64 = 0x0070_6f72_7469_636e;

/// A row of a fan-out: what it did, and a delivery unless it took none into flight.
struct Row {
    events: i64,
    deliveries: i64,
    queued: bool,
    delivery: Option<DeliveryId>,
    company: Option<CompanyId>,
    subscription: Option<SubscriptionId>,
    event: Option<EventId>,
    event_name: Option<String>,
    sequence: Option<i64>,
    version: Option<i64>,
    body: Option<Vec<u8>>,
}

/// Turns up to `events` events of the outbox into deliveries. One instance at a time does so, oldest first: what comes later about a record
/// is never there before what came first. Who finds another at it leaves it to them.
///
/// Up to `flights` of them are taken into flight at once, where nothing has to be looked at first: the endpoint has room, nothing waits for
/// it, its circuit is closed, and it wants neither order nor a pace. The others wait to be claimed, those in order behind the one before, if
/// there is any: so their endpoints are locked as well, before any is queued. The first delivery of each event that flies has its bytes.
pub(in crate::webhooks) async fn fan_out(
    conn: &mut PgConnection,
    events: u16,
    flights: i32,
    in_flight: i32,
    now: DateTime<Utc>,
) -> Result<(FannedOut, Vec<Taken>), sqlx::Error> {
    // The ids are made here, as the program makes them: time first, chance after it.
    let time = &DeliveryId::new(now).uuid().to_string()[..15];
    let rows = sqlx::query_as!(
        Row,
        r#"with alone as materialized (
             select pg_try_advisory_xact_lock($3) as alone
         ), drained as (
             delete from outbox
             where position in (select position from outbox where (select alone from alone) order by position limit $1)
             returning position, event_id, company_id, name, subject_id, sequence
         ), wanted as materialized (
             select ($4 || substr(gen_random_uuid()::text, 16))::uuid as id, drained.*, subscriptions.id as subscription_id,
                    subscriptions.version, subscriptions.rate_limit, in_order,
                    case when in_order then uuid_hash_extended(drained.subject_id, 0) end as chain
             from drained
             join subscriptions on subscriptions.company_id = drained.company_id
             cross join lateral (select subscriptions.ordering = 'resource' as in_order) as wish
             where subscriptions.status = 'enabled' and subscriptions.deleted_at is null
             and (subscriptions.events = '{}'
                  or subscriptions.events && array['*', drained.name, split_part(drained.name, '.', 1) || '.*'])
             -- who disables one waits, or is seen: no delivery is made that nobody calls off
             for share of subscriptions
         ), endpoint as materialized (
             select subscription_id, $6::integer - in_flight as room from endpoints
             where subscription_id = any(array(select subscription_id from wanted where in_order or $5 > 0 and rate_limit is null))
             and (subscription_id = any(array(select subscription_id from wanted where in_order))
                  or open_until is null
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
                case when row_number() over (partition by flying.event_id) = 1 then (select body from events where id = flying.event_id) end
                as body
         from (
             select (select count(*) from drained) as events, (select count(*) from wanted) as deliveries,
                    exists (select from queued) as queued
         ) as summary
         left join flying on true"#,
        i64::from(events),
        now,
        FANNING_OUT,
        time,
        flights,
        in_flight,
    )
    .fetch_all(conn)
    .await?;
    let Row { events, deliveries, queued, .. } = rows[0];
    let fanned_out = FannedOut { events, deliveries, queued };
    Ok((fanned_out, rows.into_iter().filter_map(|row| taken!(row, 1, 0, false, false)).collect()))
}
