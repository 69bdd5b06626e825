//! The SQL of calling off. Whoever locks an endpoint may wait for a delivery, so nobody who holds deliveries waits for an endpoint.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{DeliveryId, SubscriptionId};

/// Whose deliveries are called off, and how far.
#[derive(Clone, Copy, Debug)]
pub(super) struct CalledOff {
    pub(super) subscription: SubscriptionId,
    before: i64,
}

/// Holds the row of the endpoint: until the transaction ends nobody else moves its deliveries from one table to another.
pub(super) async fn lock_endpoint(conn: &mut PgConnection, subscription: SubscriptionId) -> Result<(), sqlx::Error> {
    sqlx::query!("select from endpoints where subscription_id = $1 for no key update", subscription.uuid()).execute(conn).await?;
    Ok(())
}

/// Calls off what is in flight to an endpoint, and notes that all that waits for it is, too. The endpoint has to be locked, by a statement
/// before: this one sees only what was there when it began.
pub(super) async fn call_off(conn: &mut PgConnection, subscription: SubscriptionId) -> Result<CalledOff, sqlx::Error> {
    sqlx::query_as!(
        CalledOff,
        r#"with flying as (
             update in_flight set called_off = true where subscription_id = $1
         )
         update endpoints set called_off_before = nextval('waiting_places') where subscription_id = $1
         returning subscription_id as "subscription: SubscriptionId", called_off_before as "before!""#,
        subscription.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// What is called off and may not be closed yet, the longest first.
pub(super) async fn find_called_off(conn: &mut PgConnection) -> Result<Vec<CalledOff>, sqlx::Error> {
    sqlx::query_as!(
        CalledOff,
        r#"select subscription_id as "subscription: SubscriptionId", called_off_before as "before!" from endpoints
         where called_off_before is not null order by called_off_before"#,
    )
    .fetch_all(conn)
    .await
}

/// The next deliveries that are called off, but those that somebody else is closing.
pub(super) async fn lock_batch(conn: &mut PgConnection, called_off: CalledOff, limit: usize) -> Result<Vec<DeliveryId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: DeliveryId" from waiting where subscription_id = $1 and place < $2
         order by created_at, id limit $3 for update skip locked"#,
        called_off.subscription.uuid(),
        called_off.before,
        limit as i64,
    )
    .fetch_all(conn)
    .await
}

/// Closes those of the deliveries that wait; answers whether any did.
pub(super) async fn close(conn: &mut PgConnection, deliveries: &[DeliveryId], now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let closed = sqlx::query!(
        "with called_off as (
             delete from waiting where id = any($1)
             returning id, company_id, subscription_id, event_id, event, sequence, replay_of, attempts, created_at
         )
         insert into deliveries (id, company_id, subscription_id, event_id, event, sequence, replay_of, state, attempts, created_at, closed_at)
         select id, company_id, subscription_id, event_id, event, sequence, replay_of, 'cancelled', attempts, created_at, $2
         from called_off",
        deliveries as &[DeliveryId],
        now,
    )
    .execute(conn)
    .await?;
    Ok(closed.rows_affected() > 0)
}

/// Marks a delivery that is in flight; answers whether it is.
pub(super) async fn call_off_in_flight(conn: &mut PgConnection, id: DeliveryId) -> Result<bool, sqlx::Error> {
    let marked = sqlx::query!("update in_flight set called_off = true where id = $1", id.uuid()).execute(conn).await?;
    Ok(marked.rows_affected() > 0)
}

/// Takes the note away, unless something of what it tells of still waits, or more has been called off since.
pub(super) async fn finish(conn: &mut PgConnection, called_off: CalledOff) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update endpoints set called_off_before = null where subscription_id = $1 and called_off_before = $2
         and not exists (select from waiting where subscription_id = $1 and place < $2)",
        called_off.subscription.uuid(),
        called_off.before,
    )
    .execute(conn)
    .await?;
    Ok(())
}
