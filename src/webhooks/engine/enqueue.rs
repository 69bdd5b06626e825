//! Queues a delivery of one event for one subscription.

use chrono::{DateTime, Utc};

use crate::events::Addressed;
use crate::kernel::database::Connection;
use crate::kernel::ids::{DeliveryId, SubscriptionId};

/// Queues a first delivery of an event that is addressed to this subscription.
pub async fn enqueue(
    conn: &mut Connection,
    event: &Addressed,
    subscription: SubscriptionId,
    now: DateTime<Utc>,
) -> Result<DeliveryId, sqlx::Error> {
    sqlx::query_scalar!(
        r#"insert into waiting (id, company_id, subscription_id, event_id, event, sequence, lane, due_at, created_at, updated_at)
           values ($1, $2, $3, $4, $5, $6, 0, $7, $7, $7) returning id as "id: DeliveryId""#,
        DeliveryId::new(now).uuid(),
        event.company.uuid(),
        subscription.uuid(),
        event.id.uuid(),
        event.name,
        event.sequence,
        now,
    )
    .fetch_one(conn)
    .await
}
