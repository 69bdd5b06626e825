//! The SQL of the outbox.

use std::borrow::Borrow;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::events::{NewEvent, PUBLISHED};
use crate::kernel::ids::EventId;

/// The advisory lock of the transaction that notifies.
pub(crate) const NOTIFY_LOCK: i64 = 0x0070_6f72_7469_636f;

/// Events as one array per column, the parameters of one statement.
#[derive(Debug, Default)]
pub struct Columns {
    pub(crate) ids: Vec<Uuid>,
    pub(crate) companies: Vec<Uuid>,
    pub(crate) names: Vec<String>,
    pub(crate) subjects: Vec<Option<Uuid>>,
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl Columns {
    /// Assigns ids to events and serializes their bodies.
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

/// The statement that inserts events, assigns sequence numbers to those about a record, and adds them to the outbox. `$beside`
/// (`name as (insert …),`) is a further insert in the same statement; its parameters start at `$10`.
///
/// The position in the outbox is taken after the row of the record's sequence was locked, so it grows with the sequence number.
///
/// With `$notifies` the transaction notifies the listeners. A commit with a notification holds a server-wide lock until it is on
/// disk, so such commits run one after another. Therefore only one concurrent transaction notifies. The others find its advisory
/// lock taken and send nothing, and listeners poll again shortly after a notification.
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
            $crate::events::NOTIFY_LOCK,
            $notifies,
            $($more,)*
        )
    };
}
pub(crate) use publishing;

/// Publishes events without a further insert.
pub(super) async fn insert_events(
    conn: &mut PgConnection,
    events: &Columns,
    notifies: bool,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    publishing!("", events, notifies, now).execute(conn).await?;
    Ok(())
}

/// Notifies the listeners, with `word` as the payload.
pub(super) async fn notify(conn: &mut PgConnection, word: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("select pg_notify($1, $2)", PUBLISHED, word).execute(conn).await?;
    Ok(())
}
