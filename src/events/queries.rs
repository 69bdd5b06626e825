//! The SQL of the outbox.

use std::borrow::Borrow;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::events::{NewEvent, PUBLISHED};
use crate::kernel::ids::EventId;

/// The advisory lock of whoever notifies.
pub(crate) const NOTIFYING: i64 = 0x0070_6f72_7469_636f;

/// Events by column, as one statement takes them.
#[derive(Debug, Default)]
pub struct Columns {
    pub(crate) ids: Vec<Uuid>,
    pub(crate) companies: Vec<Uuid>,
    pub(crate) names: Vec<String>,
    pub(crate) subjects: Vec<Option<Uuid>>,
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl Columns {
    /// Gives events their ids and their final bytes.
    pub fn of(events: &[impl Borrow<NewEvent>], now: DateTime<Utc>) -> Self {
        let mut columns = Self::default();
        for event in events {
            let (event, id) = (event.borrow(), EventId::new(now));
            columns.ids.push(id.uuid());
            columns.companies.push(event.company.uuid());
            columns.names.push(event.name.as_str().to_owned());
            columns.subjects.push(event.subject);
            columns.bodies.push(event.body(id, now));
        }
        columns
    }
}

/// The statement that inserts events, numbers those that are about a record, and enters them into the outbox; and writes what made them
/// happen, where that is `$beside` (`name as (insert …),`), whose parameters begin with `$10`.
///
/// The place in the outbox is taken after the row of the record's sequence was locked: so it grows with the sequence.
///
/// With `$notifies` whoever listens is told of it. Whoever commits a notification holds a lock of the whole server until it is on disk, one
/// after another. So only one transaction at a time notifies; those beside it find its advisory lock taken and are silent, and whoever listens
/// looks again a moment later.
macro_rules! publishing {
    ($beside:literal, $events:expr, $notifies:expr, $now:expr $(, $more:expr)*) => {
        sqlx::query!(
            "with " + $beside + "new as (
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
            &$events.ids,
            &$events.companies,
            &$events.names,
            &$events.subjects as &[Option<uuid::Uuid>],
            &$events.bodies,
            $now,
            $crate::events::PUBLISHED,
            $crate::events::NOTIFYING,
            $notifies,
            $($more,)*
        )
    };
}
pub(crate) use publishing;

/// Publishes events by themselves.
pub(super) async fn insert_events(
    conn: &mut PgConnection,
    events: &Columns,
    notifies: bool,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    publishing!("", events, notifies, now).execute(conn).await?;
    Ok(())
}

/// Tells whoever listens, with a word of who tells.
pub(super) async fn notify(conn: &mut PgConnection, word: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("select pg_notify($1, $2)", PUBLISHED, word).execute(conn).await?;
    Ok(())
}
