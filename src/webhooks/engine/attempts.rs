//! The attempts of a delivery, and the event that they sent.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{AttemptId, DeliveryId, EventId};

#[derive(Debug)]
pub struct LoggedAttempt {
    pub id: AttemptId,
    pub number: i16,
    pub started_at: DateTime<Utc>,
    pub duration_ms: Option<i32>,
    pub status: Option<i16>,
    pub error: Option<String>,
    pub reason: Option<String>,
    pub resends: i16,
    pub request_headers: String,
    pub response_headers: Option<String>,
    pub response_body: Option<Vec<u8>>,
}

/// The bytes of an event, unless its retention has ended.
pub async fn find_body(conn: &mut Connection, event: EventId) -> Result<Option<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar!(r#"select body as "body!" from event_stream where id = $1"#, event.uuid()).fetch_optional(conn).await
}

/// The attempts of a delivery, in order.
pub async fn list_attempts(conn: &mut Connection, delivery: DeliveryId) -> Result<Vec<LoggedAttempt>, sqlx::Error> {
    sqlx::query_as!(
        LoggedAttempt,
        r#"select id as "id: AttemptId", number, started_at, duration_ms, status, error, reason, resends, request_headers,
                  response_headers, response_body
           from attempts where delivery_id = $1 order by number"#,
        delivery.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// Erases what endpoints responded to these events, which may quote them.
pub async fn erase_responses(conn: &mut Connection, events: &[EventId]) -> Result<(), sqlx::Error> {
    if events.is_empty() {
        return Ok(());
    }
    let events: Vec<_> = events.iter().map(|event| event.uuid()).collect();
    sqlx::query!(
        "update attempts set response_headers = null, response_body = null where (response_headers is not null or response_body is not null)
         and delivery_id in (select id from delivery_log where event_id = any($1))",
        &events,
    )
    .execute(conn)
    .await?;
    Ok(())
}
