//! The SQL of the outbox.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::events::PUBLISHED;

/// The advisory lock of whoever notifies.
const NOTIFYING: i64 = 0x0070_6f72_7469_636f;

/// Events by column, as one statement takes them.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) ids: Vec<Uuid>,
    pub(super) companies: Vec<Uuid>,
    pub(super) names: Vec<String>,
    pub(super) subjects: Vec<Option<Uuid>>,
    pub(super) bodies: Vec<Vec<u8>>,
}

/// Inserts events, numbers those that are about a record, and enters them into the outbox.
///
/// The place in the outbox is taken after the row of the record's sequence was locked: so it grows with the sequence.
///
/// With `notifies` whoever listens is told of it. Whoever commits a notification holds a lock of the whole server until it is on disk, one
/// after another. So only one transaction at a time notifies; those beside it find its advisory lock taken and are silent, and whoever listens
/// looks again a moment later.
pub(super) async fn insert_events(
    conn: &mut PgConnection,
    events: &Columns,
    notifies: bool,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with new as (
             select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::bytea[]) with ordinality
             as new (id, company_id, name, subject_id, body, place)
         ), counted as (
             insert into event_sequences as sequences (company_id, subject_id, last)
             select company_id, subject_id, count(*) from new where subject_id is not null group by 1, 2 order by 1, 2
             on conflict (company_id, subject_id) do update set last = sequences.last + excluded.last
             returning company_id, subject_id, last
         ), numbered as (
             select new.*, counted.last + 1 - row_number() over (partition by company_id, subject_id order by place desc) as sequence
             from new left join counted using (company_id, subject_id)
         ), event as (
             insert into events (id, company_id, name, subject_id, sequence, body, created_at)
             select id, company_id, name, subject_id, sequence, body, $6 from numbered order by place
         ), entry as (
             insert into outbox (event_id, company_id, name, subject_id, sequence)
             select id, company_id, name, subject_id, sequence from numbered order by place
         )
         select pg_notify($7, '') where $9 and pg_try_advisory_xact_lock($8)",
        &events.ids,
        &events.companies,
        &events.names,
        &events.subjects as &[Option<Uuid>],
        &events.bodies,
        now,
        PUBLISHED,
        NOTIFYING,
        notifies,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Tells whoever listens, with a word of who tells.
pub(super) async fn notify(conn: &mut PgConnection, word: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("select pg_notify($1, $2)", PUBLISHED, word).execute(conn).await?;
    Ok(())
}
