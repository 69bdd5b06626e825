//! Takes deliveries back from workers that died.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::AttemptId;
use crate::webhooks::sending::fault::Fault;

/// Which leases are ended.
#[derive(Debug)]
pub struct Lost {
    /// Those of these workers, if they have counted no further than to `beats`. They are removed.
    pub workers: Vec<Uuid>,
    pub beats: Vec<i64>,
    /// Those taken before this instant,
    pub expired_before: DateTime<Utc>,
    /// and those that appear to be taken after this one.
    pub impossible_after: DateTime<Utc>,
}

/// Ends leases. The attempt is logged as interrupted. Its delivery becomes due again, or fails once it has lost `interruptions` attempts
/// this way. Returns the number of leases. It reads all that is in flight, of which there is no more than there are permits.
pub async fn release(conn: &mut Connection, lost: &Lost, interruptions: i16, now: DateTime<Utc>) -> Result<u64, sqlx::Error> {
    let time = &AttemptId::new(now).uuid().to_string()[..15];
    let released = sqlx::query_scalar!(
        r#"with dead as (
             delete from workers using unnest($7::uuid[], $8::bigint[]) as silent (id, beats)
             where workers.id = silent.id and workers.beats = silent.beats
             returning workers.id
         ), ended as materialized (
             select id, subscription_id from in_flight where claimed_at <= $1 or claimed_at > $6 or worker in (select id from dead)
         ), endpoint as materialized (
             select subscription_id from endpoints where subscription_id in (select subscription_id from ended)
             order by subscription_id for no key update
         ), lost as (
             delete from in_flight
             where id in (select id from ended) and (select count(*) from endpoint) > 0
             returning *, not cancelled and attempts - failures < $2 as again
         ), logged as (
             insert into attempts (id, delivery_id, number, started_at, error, request_headers)
             select ($5 || substr(gen_random_uuid()::text, 16))::uuid, id, attempts, claimed_at, $4, '{}' from lost
         ), repeated as (
             insert into waiting (id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, lane, due_at, attempts,
                                  failures, created_at, updated_at)
             select id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, case when replay_of is null then 1 else 3 end,
                    $3, attempts, failures, created_at, $3
             from lost where again
         ), closed as (
             insert into deliveries (id, company_id, subscription_id, event_id, event, sequence, replay_of, state, attempts, created_at, closed_at)
             select id, company_id, subscription_id, event_id, event, sequence, replay_of,
                    case when cancelled then 'cancelled' else 'failed' end, attempts, created_at, $3
             from lost where not again
         ), counted as (
             update endpoints set in_flight = in_flight - of_each.deliveries
             from (select subscription_id, count(*)::integer as deliveries from lost group by subscription_id) as of_each
             where endpoints.subscription_id = of_each.subscription_id
         )
         select count(*) as "lost!" from lost"#,
        lost.expired_before,
        interruptions,
        now,
        Fault::Interrupted.as_str(),
        time,
        lost.impossible_after,
        &lost.workers,
        &lost.beats,
    )
    .fetch_one(conn)
    .await?;
    Ok(released.unsigned_abs())
}
