//! The SQL of the outbox.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::events::{NewEvent, PUBLISHED};
use crate::kernel::ids::EventId;

pub(super) async fn insert_event(
    conn: &mut PgConnection,
    id: EventId,
    event: &NewEvent,
    body: &[u8],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with event as (
             insert into events (id, company_id, name, subject_id, body, created_at) values ($1, $2, $3, $4, $5, $6) returning id
         ), entry as (
             insert into outbox (event_id) select id from event
         )
         select pg_notify($7, '')",
        id.uuid(),
        event.company.uuid(),
        event.name.as_str(),
        event.subject,
        body,
        now,
        PUBLISHED,
    )
    .execute(conn)
    .await?;
    Ok(())
}
