//! From the outbox to the queue.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::DeliveryId;
use crate::webhooks::fan_out::FannedOut;

/// The advisory lock of whoever fans out.
const FANNING_OUT: i64 = 0x0070_6f72_7469_636e;

/// Turns up to `limit` events of the outbox into deliveries. One instance at a time does so, oldest first: what comes later about a record
/// is never there before what came first. Who finds another at it leaves it to them.
pub(in crate::webhooks) async fn fan_out(conn: &mut PgConnection, limit: u16, now: DateTime<Utc>) -> Result<FannedOut, sqlx::Error> {
    // The ids are made here, as the program makes them: time first, chance after it.
    let time = &DeliveryId::new(now).uuid().to_string()[..15];
    sqlx::query_as!(
        FannedOut,
        r#"with alone as materialized (
             select pg_try_advisory_xact_lock($3) as alone
         ), drained as (
             delete from outbox
             where position in (select position from outbox where (select alone from alone) order by position limit $1)
             returning event_id, company_id, name, subject_id, sequence
         ), fanned_out as (
             insert into waiting (id, company_id, subscription_id, event_id, event, sequence, chain, lane, due_at, created_at, updated_at)
             select ($4 || substr(gen_random_uuid()::text, 16))::uuid, drained.company_id, subscriptions.id, drained.event_id, drained.name,
                    drained.sequence, chained.chain, case when chained.chain is null then 0 else 2 end, $2, $2, $2
             from drained
             join subscriptions on subscriptions.company_id = drained.company_id
             cross join lateral (
                 select case when subscriptions.ordering = 'resource' then uuid_hash_extended(drained.subject_id, 0) end as chain
             ) as chained
             where subscriptions.status = 'enabled' and subscriptions.deleted_at is null
             and (subscriptions.events = '{}'
                  or subscriptions.events && array['*', drained.name, split_part(drained.name, '.', 1) || '.*'])
             -- who disables one waits, or is seen: no delivery is made that nobody calls off
             for share of subscriptions
             returning lane
         )
         select (select count(*) from drained) as "events!", count(*) as "deliveries!",
                coalesce(bool_or(lane = 2), false) as "in_order!" from fanned_out"#,
        i64::from(limit),
        now,
        FANNING_OUT,
        time,
    )
    .fetch_one(conn)
    .await
}
