//! The details of one delivery in the log.

use sqlx::PgConnection;

use crate::kernel::ids::{AttemptId, DeliveryId, EventId};
use crate::webhooks::deliveries::log::LoggedAttempt;

/// The bytes of an event, unless its retention has ended.
pub(in crate::webhooks) async fn find_body(conn: &mut PgConnection, event: EventId) -> Result<Option<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar!("select body from events where id = $1", event.uuid()).fetch_optional(conn).await
}

/// The attempts of a delivery, in order.
pub(in crate::webhooks) async fn list_attempts(conn: &mut PgConnection, delivery: DeliveryId) -> Result<Vec<LoggedAttempt>, sqlx::Error> {
    sqlx::query_as!(
        LoggedAttempt,
        r#"select id as "id: AttemptId", number, started_at, duration_ms, status, error, request_headers, response_headers, response_body
           from attempts where delivery_id = $1 order by number"#,
        delivery.uuid(),
    )
    .fetch_all(conn)
    .await
}
