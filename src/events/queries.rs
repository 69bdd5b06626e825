//! The SQL of the outbox.

use std::borrow::Borrow;
use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::events::NewEvent;
use crate::kernel::ids::EventId;

/// The NOTIFY channel for committed events.
pub const PUBLISHED: &str = "portico_published";

/// The advisory lock of the transaction that notifies.
const NOTIFY_LOCK: i64 = 0x0070_6f72_7469_636f;

/// Events as one array per column, the parameters of one statement.
#[derive(Debug, Default)]
pub struct Columns {
    pub(crate) ids: Vec<Uuid>,
    pub(crate) companies: Vec<Uuid>,
    pub(crate) names: Vec<String>,
    pub(crate) subjects: Vec<Option<Uuid>>,
    pub(crate) bodies: Vec<Vec<u8>>,
    /// For the first event about each record, the number of events about it.
    pub(crate) totals: Vec<Option<i64>>,
    /// The number of events about the same record that follow.
    pub(crate) later: Vec<i64>,
}

impl Columns {
    /// Assigns ids to events and serializes their bodies.
    pub fn of(events: &[impl Borrow<NewEvent>], now: DateTime<Utc>) -> Self {
        let mut columns = Self::default();
        let mut totals = HashMap::<_, i64>::new();
        for event in events.iter().rev().map(Borrow::borrow) {
            let total = totals.entry((event.company, event.subject)).or_default();
            columns.later.push(*total);
            *total += 1;
        }
        columns.later.reverse();
        for event in events {
            let (event, id) = (event.borrow(), EventId::new(now));
            columns.totals.push(totals.remove(&(event.company, event.subject)));
            columns.ids.push(id.uuid());
            columns.companies.push(event.company.uuid());
            columns.names.push(event.name.as_str().to_owned());
            columns.subjects.push(event.subject);
            columns.bodies.push(event.body(id, now));
        }
        columns
    }
}

/// Publishes events by the function `publish_events`, which inserts them, assigns sequence numbers to those about a record, and adds
/// them to the outbox. Another capability that publishes beside its own work, in one statement, calls the function in that statement.
///
/// With `notifies` the transaction notifies the listeners. A commit with a notification holds a server-wide lock until it is on disk, so
/// such commits run one after another. Therefore only one concurrent transaction notifies. The others find its advisory lock taken and
/// send nothing, and listeners poll again shortly after a notification.
pub(super) async fn insert_events(
    conn: &mut PgConnection,
    events: &Columns,
    notifies: bool,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "select publish_events(ids => $1, companies => $2, names => $3, subjects => $4, bodies => $5, totals => $6, later => $7, at => $8),
                (select pg_notify($9, '') where $10 and pg_try_advisory_xact_lock($11))",
        &events.ids,
        &events.companies,
        &events.names,
        &events.subjects as &[Option<Uuid>],
        &events.bodies,
        &events.totals as &[Option<i64>],
        &events.later,
        now,
        PUBLISHED,
        notifies,
        NOTIFY_LOCK,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Notifies the listeners, with `word` as the payload.
pub(super) async fn notify(conn: &mut PgConnection, word: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("select pg_notify($1, $2)", PUBLISHED, word).execute(conn).await?;
    Ok(())
}
