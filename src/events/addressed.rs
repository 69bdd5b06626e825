//! Events for one subscription alone: tests.

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, EventId, SubscriptionId};

/// An event that is no longer in the outbox.
#[derive(Debug)]
pub struct Addressed {
    /// The event id.
    pub id: EventId,
    /// The company that owns the event.
    pub company: CompanyId,
    /// The event name.
    pub name: String,
    /// The sequence number among the events about the same record; `None` if the event is not about a record.
    pub sequence: Option<i64>,
}

/// Addresses an event of this transaction to one subscription: it leaves the outbox, and no other subscription receives it, now or later.
/// The caller delivers it.
pub async fn address(conn: &mut Connection, event: EventId, subscription: SubscriptionId) -> Result<Addressed, sqlx::Error> {
    sqlx::query_as!(
        Addressed,
        r#"with addressed as (
             update events set addressed_to = $2 where id = $1
         )
         delete from outbox where event_id = $1
         returning event_id as "id: EventId", company_id as "company: CompanyId", name, sequence"#,
        event.uuid(),
        subscription.uuid(),
    )
    .fetch_one(conn)
    .await
}
