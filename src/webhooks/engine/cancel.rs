//! Cancelling: moves waiting deliveries to the closed ones, and marks those that are in flight.
//!
//! A transaction that holds the lock of an endpoint may wait for a delivery, so a transaction that holds deliveries never waits for an
//! endpoint.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{DeliveryId, SubscriptionId};

/// A cancellation mark: the subscription, and how far its deliveries are cancelled.
#[derive(Clone, Copy, Debug)]
pub struct Cancellation {
    pub subscription: SubscriptionId,
    before: i64,
}

/// Cancels the deliveries in flight to an endpoint, and marks all its waiting deliveries as cancelled. The endpoint must be locked
/// by an earlier statement, because this one sees only what was committed when it began.
pub async fn cancel_waiting(conn: &mut Connection, subscription: SubscriptionId) -> Result<Cancellation, sqlx::Error> {
    sqlx::query_as!(
        Cancellation,
        r#"with flying as (
             update in_flight set cancelled = true where subscription_id = $1
         )
         update endpoints set cancelled_before = nextval('waiting_places') where subscription_id = $1
         returning subscription_id as "subscription: SubscriptionId", cancelled_before as "before!""#,
        subscription.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// The marks whose deliveries may not all be closed yet, oldest first.
pub async fn find_cancelled(conn: &mut Connection) -> Result<Vec<Cancellation>, sqlx::Error> {
    sqlx::query_as!(
        Cancellation,
        r#"select subscription_id as "subscription: SubscriptionId", cancelled_before as "before!" from endpoints
         where cancelled_before is not null order by cancelled_before"#,
    )
    .fetch_all(conn)
    .await
}

/// Locks the next cancelled deliveries, except those that another transaction is closing.
pub async fn lock_batch(conn: &mut Connection, cancellation: Cancellation, limit: usize) -> Result<Vec<DeliveryId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: DeliveryId" from waiting where subscription_id = $1 and place < $2
         order by created_at, id limit $3 for update skip locked"#,
        cancellation.subscription.uuid(),
        cancellation.before,
        limit as i64,
    )
    .fetch_all(conn)
    .await
}

/// Closes those of the deliveries that are waiting; returns whether there were any.
pub async fn close(conn: &mut Connection, deliveries: &[DeliveryId], now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let closed = sqlx::query!(
        "with closed as (
             delete from waiting where id = any($1)
             returning id, company_id, subscription_id, event_id, event, sequence, replay_of, attempts, created_at
         )
         insert into deliveries (id, company_id, subscription_id, event_id, event, sequence, replay_of, state, attempts, created_at, closed_at)
         select id, company_id, subscription_id, event_id, event, sequence, replay_of, 'cancelled', attempts, created_at, $2
         from closed",
        deliveries as &[DeliveryId],
        now,
    )
    .execute(conn)
    .await?;
    Ok(closed.rows_affected() > 0)
}

/// Marks a delivery in flight as cancelled; returns whether it was in flight.
pub async fn cancel_in_flight(conn: &mut Connection, id: DeliveryId) -> Result<bool, sqlx::Error> {
    let marked = sqlx::query!("update in_flight set cancelled = true where id = $1", id.uuid()).execute(conn).await?;
    Ok(marked.rows_affected() > 0)
}

/// The endpoints whose webhooks are paused.
pub async fn list_paused(conn: &mut Connection) -> Result<Vec<SubscriptionId>, sqlx::Error> {
    sqlx::query_scalar!(r#"select subscription_id as "subscription: SubscriptionId" from endpoints where paused order by subscription_id"#)
        .fetch_all(conn)
        .await
}

/// The oldest deliveries that wait for an endpoint, of those made before `made_before`. The endpoint must be locked.
pub async fn list_waiting(
    conn: &mut Connection,
    subscription: SubscriptionId,
    made_before: DateTime<Utc>,
    limit: usize,
) -> Result<Vec<DeliveryId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: DeliveryId" from waiting where subscription_id = $1 and created_at < $2 order by created_at, id limit $3"#,
        subscription.uuid(),
        made_before,
        limit as i64,
    )
    .fetch_all(conn)
    .await
}

/// Removes the mark, unless a delivery that it covers is still waiting or a newer mark has replaced it.
pub async fn finish(conn: &mut Connection, cancellation: Cancellation) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update endpoints set cancelled_before = null where subscription_id = $1 and cancelled_before = $2
         and not exists (select from waiting where subscription_id = $1 and place < $2)",
        cancellation.subscription.uuid(),
        cancellation.before,
    )
    .execute(conn)
    .await?;
    Ok(())
}
