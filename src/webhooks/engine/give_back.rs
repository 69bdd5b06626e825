//! Giving back: returns deliveries to the queue that were claimed and then not sent, as if they had never been claimed.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{DeliveryId, WorkerId};
use crate::webhooks::Webhooks;
use crate::webhooks::tracks::Track;

impl Webhooks {
    /// Gives back first attempts that this worker has claimed until `claimed_by`, and of which nothing was sent. A lease that was lost meanwhile stays
    /// lost. Returns whether any was given back.
    pub(crate) async fn give_back(&self, deliveries: &[DeliveryId], claimed_by: DateTime<Utc>) -> Result<bool, sqlx::Error> {
        let mut conn = self.delivery_pools.of(Track::Light).acquire().await?;
        return_to_the_queue(&mut conn, deliveries, (self.worker, claimed_by), self.clock.now()).await
    }
}

/// Moves first attempts out of flight into the lane they came from, where they are the first again. One that was cancelled meanwhile is
/// closed. One that was given back before and claimed again is left alone: it is being sent.
async fn return_to_the_queue(
    conn: &mut Connection,
    deliveries: &[DeliveryId],
    (worker, claimed_by): (WorkerId, DateTime<Utc>),
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "with endpoint as materialized (
             select subscription_id from endpoints
             where subscription_id = any(array(select subscription_id from in_flight where id = any($1)))
             order by subscription_id for no key update
         ), returned as (
             delete from in_flight
             where id = any($1) and attempts = 1 and replay_of is null and worker = $3 and claimed_at <= $4
             and (select count(*) from endpoint) > 0
             returning *
         ), queued as (
             insert into waiting (id, company_id, subscription_id, event_id, event, sequence, chain, lane, due_at, created_at, updated_at)
             select id, company_id, subscription_id, event_id, event, sequence, chain, 0, created_at, created_at, $2
             from returned where not cancelled
         ), closed as (
             insert into deliveries (id, company_id, subscription_id, event_id, event, sequence, state, attempts, created_at, closed_at)
             select id, company_id, subscription_id, event_id, event, sequence, 'cancelled', 0, created_at, $2 from returned where cancelled
         )
         update endpoints set in_flight = in_flight - of_each.deliveries
         from (select subscription_id, count(*)::integer as deliveries from returned group by subscription_id) as of_each
         where endpoints.subscription_id = of_each.subscription_id",
        deliveries as &[DeliveryId],
        now,
        worker.uuid(),
        claimed_by,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}
