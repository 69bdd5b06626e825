//! The SQL of subscriptions, beside that of every resource.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{DeliveryId, EventId, SubscriptionId};

/// Cancels every open delivery. One in flight stays in flight, so that its attempt is logged; it will not be repeated.
///
/// Rows are locked in the order of their ids, as recording does: whoever wants the same ones waits, and nobody waits in a circle.
pub(super) async fn call_off_deliveries(
    conn: &mut PgConnection,
    subscription: SubscriptionId,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with open as (
             select id from deliveries
             where subscription_id = $1 and (due_at is not null or claimed_at is not null) and state in ('pending', 'retrying')
             order by id for update
         )
         update deliveries set state = 'cancelled', due_at = null, updated_at = $2 from open where deliveries.id = open.id",
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
             delete from outbox where event_id = $1 returning event_id
         )
         insert into deliveries (id, company_id, subscription_id, event_id, state, due_at, created_at, updated_at)
         select $2, events.company_id, $3, events.id, 'pending', $4, $4, $4 from taken join events on events.id = taken.event_id
         returning id as "id: DeliveryId""#,
        event.uuid(),
        DeliveryId::new(now).uuid(),
        subscription.uuid(),
        now,
    )
    .fetch_one(conn)
    .await
}
