//! The SQL of subscriptions, beside that of every resource.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{DeliveryId, EventId, SubscriptionId};

/// Gives a new subscription the row that its endpoint's state is kept in.
pub(super) async fn insert_endpoint(conn: &mut PgConnection, subscription: SubscriptionId) -> Result<(), sqlx::Error> {
    sqlx::query!("insert into endpoints (subscription_id) values ($1)", subscription.uuid()).execute(conn).await?;
    Ok(())
}

/// Forgets how the endpoint was doing: whoever enables a subscription says that it is well.
pub(super) async fn reset_endpoint(conn: &mut PgConnection, subscription: SubscriptionId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update endpoints set consecutive_failures = 0, failing_since = null, open_until = null where subscription_id = $1",
        subscription.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Holds the row of the endpoint: until the transaction ends nobody else moves its deliveries from one table to another.
pub(in crate::webhooks) async fn lock_endpoint(conn: &mut PgConnection, subscription: SubscriptionId) -> Result<(), sqlx::Error> {
    sqlx::query!("select from endpoints where subscription_id = $1 for no key update", subscription.uuid()).execute(conn).await?;
    Ok(())
}

/// Closes every delivery that waits, as cancelled. One in flight stays in flight, so that its attempt is logged; it will not be repeated.
/// The endpoint has to be locked, by a statement before: this one sees only what was there when it began.
pub(super) async fn call_off_deliveries(
    conn: &mut PgConnection,
    subscription: SubscriptionId,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with called_off as (
             delete from waiting where subscription_id = $1
             returning id, company_id, subscription_id, event_id, event, sequence, replay_of, attempts, created_at
         ), closed as (
             insert into deliveries (id, company_id, subscription_id, event_id, event, sequence, replay_of, state, attempts, created_at, closed_at)
             select id, company_id, subscription_id, event_id, event, sequence, replay_of, 'cancelled', attempts, created_at, $2
             from called_off
         )
         update in_flight set called_off = true where subscription_id = $1",
        subscription.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Fans out an event of this transaction to one subscription and no other.
pub(super) async fn address_event(
    conn: &mut PgConnection,
    event: EventId,
    subscription: SubscriptionId,
    now: DateTime<Utc>,
) -> Result<DeliveryId, sqlx::Error> {
    sqlx::query_scalar!(
        r#"with taken as (
             delete from outbox where event_id = $1 returning event_id, company_id, name, sequence
         )
         insert into waiting (id, company_id, subscription_id, event_id, event, sequence, lane, due_at, created_at, updated_at)
         select $2, company_id, $3, event_id, name, sequence, 0, $4, $4, $4 from taken
         returning id as "id: DeliveryId""#,
        event.uuid(),
        DeliveryId::new(now).uuid(),
        subscription.uuid(),
        now,
    )
    .fetch_one(conn)
    .await
}
