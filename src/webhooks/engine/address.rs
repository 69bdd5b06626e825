//! Test events: to one subscription alone.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{DeliveryId, EventId, SubscriptionId};

/// Fans out an event of this transaction to one subscription, and to no other now or later.
pub async fn address_event(
    conn: &mut PgConnection,
    event: EventId,
    subscription: SubscriptionId,
    now: DateTime<Utc>,
) -> Result<DeliveryId, sqlx::Error> {
    sqlx::query_scalar!(
        r#"with taken as (
             delete from outbox where event_id = $1 returning event_id, company_id, name, sequence
         ), addressed as (
             update events set addressed_to = $3 where id = $1
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
