//! Events: facts about records, written in the transaction that causes them.
//!
//! [`publish`] implements the transactional outbox. It inserts the event, including its final body bytes, into `events` and
//! references it in `outbox`, both in the caller's transaction: a change that is rolled back publishes nothing, and a committed
//! change cannot lose its event. The delivering module empties the outbox. It is woken by a notification on [`PUBLISHED`], which
//! Postgres sends when the transaction commits. Of several concurrent publishing transactions only one notifies. A notification
//! only speeds up what polling would find. Events that are published alone and at a high rate are announced after the commit
//! ([`CommitNotifier`]), because a notification delays commits.
//!
//! The events about one record are numbered 1, 2, 3 … (`event_sequences`). The number is taken under a lock that is held until the
//! commit, so events about one record are committed, and leave the outbox, in the order of their numbers.
//!
//! This module does not know the subscribers. It guarantees that an event's bytes, id and number never change after the commit. It
//! does not guarantee an order of events about different records. Events are stored in daily partitions; the delivering module has
//! them created ahead and, when nobody needs their events any more, dropped ([`create_partitions`], [`delete_expired`]).

mod addressed;
mod catalogue;
mod commit_notifier;
mod envelope;
mod name;
mod queries;
mod retention;

use std::borrow::Borrow;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::ids::{CompanyId, EventId};

pub use addressed::{Addressed, address};
pub use catalogue::{Catalogue, EventType, InvalidEventType, NameTaken, Publisher, UnknownEvent, names};
pub use commit_notifier::CommitNotifier;
pub use envelope::{API_VERSION, Envelope};
pub use name::{EventName, InvalidEventName};
pub use queries::Columns;
pub use retention::{create_partitions, delete_expired};

/// The NOTIFY channel for committed events.
pub const PUBLISHED: &str = "portico_published";

/// An event about a record of a company.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// The company that owns the event; only its subscriptions receive it.
    pub company: CompanyId,
    /// The event name.
    pub name: EventName,
    /// The record that the event is about, if any.
    pub subject: Option<Uuid>,
    /// The `data` of the envelope.
    pub data: Map<String, Value>,
}

impl NewEvent {
    /// The bytes that are stored, signed and sent.
    fn body(&self, id: EventId, now: DateTime<Utc>) -> Vec<u8> {
        Envelope { id, api_version: API_VERSION, event: &self.name, created_at: now, data: &self.data }.to_bytes()
    }
}

/// Publishes an event if and only if the caller's transaction commits.
pub async fn publish(conn: &mut PgConnection, event: NewEvent, now: DateTime<Utc>) -> Result<EventId, sqlx::Error> {
    let ids = publish_all(conn, &[event], now).await?;
    Ok(ids[0])
}

/// Publishes many events in one statement, if and only if the caller's transaction commits. Returns their ids in the same order.
pub async fn publish_all(
    conn: &mut PgConnection,
    events: &[impl Borrow<NewEvent>],
    now: DateTime<Utc>,
) -> Result<Vec<EventId>, sqlx::Error> {
    insert(conn, events, true, now).await
}

/// Publishes like [`publish_all`], but does not notify. The caller must call [`CommitNotifier::committed`] after the commit.
pub async fn publish_without_notify(
    conn: &mut PgConnection,
    events: &[impl Borrow<NewEvent>],
    now: DateTime<Utc>,
) -> Result<Vec<EventId>, sqlx::Error> {
    insert(conn, events, false, now).await
}

async fn insert(
    conn: &mut PgConnection,
    events: &[impl Borrow<NewEvent>],
    notifies: bool,
    now: DateTime<Utc>,
) -> Result<Vec<EventId>, sqlx::Error> {
    let columns = Columns::of(events, now);
    queries::insert_events(conn, &columns, notifies, now).await?;
    Ok(columns.ids.into_iter().map(EventId::from).collect())
}
