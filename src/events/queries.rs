//! The SQL of the outbox.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::events::{NewEvent, PUBLISHED};
use crate::kernel::ids::EventId;

pub(super) async fn insert_events(
    conn: &mut PgConnection,
    ids: &[EventId],
    events: &[NewEvent],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let uuids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    let (mut companies, mut names, mut subjects, mut bodies) = (vec![], vec![], vec![], vec![]);
    for (id, event) in ids.iter().zip(events) {
        companies.push(event.company.uuid());
        names.push(event.name.as_str().to_owned());
        subjects.push(event.subject);
        bodies.push(event.body(*id, now));
    }
    sqlx::query!(
        "with event as (
             insert into events (id, company_id, name, subject_id, body, created_at)
             select id, company_id, name, subject_id, body, $6
             from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::bytea[]) as new (id, company_id, name, subject_id, body)
             returning id
         ), entry as (
             insert into outbox (event_id) select id from event
         )
         select pg_notify($7, '')",
        &uuids,
        &companies,
        &names,
        &subjects as &[Option<Uuid>],
        &bodies,
        now,
        PUBLISHED,
    )
    .execute(conn)
    .await?;
    Ok(())
}
