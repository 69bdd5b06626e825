//! Events: what happened, written down in the transaction that made it happen.
//!
//! [`publish`] is the outbox. It writes the event, its final body bytes included, to `events` and names it in `outbox`, both in the
//! caller's transaction: a rolled-back change publishes nothing, a committed one cannot lose its event. Whoever delivers events empties
//! the outbox and is woken by a notification on [`PUBLISHED`], which Postgres sends when the transaction commits. Of transactions that
//! publish at the same moment one notifies for all; the notification only ever hurries what polling would find. What is published by itself,
//! many times a second, is told of after the commit ([`News`]): a notification holds commits up.
//!
//! The events about one record are numbered 1, 2, 3 … (`event_sequences`). The number is taken under a lock that holds until the commit,
//! so events about one record are committed, and leave the outbox, in the order of their numbers. The last number outlives the events: a
//! record that changes after a year goes on where it was, because a receiver takes the lesser of two numbers for the older event.
//!
//! This part knows no receiver. It guarantees that an event's bytes, id and number never change after the commit; it promises nothing
//! about the order of events about different records. Events are kept in a partition a day, made and dropped by whoever delivers them.

mod catalogue;
mod envelope;
mod name;
mod news;
mod queries;

use std::borrow::Borrow;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::ids::{CompanyId, EventId};

pub use catalogue::{BadEventType, Catalogue, EventType, NameTaken, Publisher, UnknownEvent, names};
pub use envelope::{API_VERSION, Envelope};
pub use name::{EventName, NotAnEventName};
pub use news::News;
pub use queries::Columns;
pub(crate) use queries::{NOTIFYING, publishing};

/// The channel on which Postgres tells that events were committed.
pub const PUBLISHED: &str = "portico_published";

/// Something that happened to a record of a company.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// Whose event it is; only this company's subscriptions see it.
    pub company: CompanyId,
    /// What happened.
    pub name: EventName,
    /// The record it happened to, where there is one.
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

/// Publishes an event when, and only when, the caller's transaction commits.
pub async fn publish(conn: &mut PgConnection, event: NewEvent, now: DateTime<Utc>) -> Result<EventId, sqlx::Error> {
    let ids = publish_all(conn, &[event], now).await?;
    Ok(ids[0])
}

/// Publishes many events in one statement when, and only when, the caller's transaction commits. Answers their ids, in the same order.
pub async fn publish_all(
    conn: &mut PgConnection,
    events: &[impl Borrow<NewEvent>],
    now: DateTime<Utc>,
) -> Result<Vec<EventId>, sqlx::Error> {
    enter(conn, events, true, now).await
}

/// Publishes as [`publish_all`] does, but tells nobody: after the commit the caller does ([`News::committed`]).
pub async fn publish_untold(
    conn: &mut PgConnection,
    events: &[impl Borrow<NewEvent>],
    now: DateTime<Utc>,
) -> Result<Vec<EventId>, sqlx::Error> {
    enter(conn, events, false, now).await
}

async fn enter(
    conn: &mut PgConnection,
    events: &[impl Borrow<NewEvent>],
    notifies: bool,
    now: DateTime<Utc>,
) -> Result<Vec<EventId>, sqlx::Error> {
    let columns = Columns::of(events, now);
    queries::insert_events(conn, &columns, notifies, now).await?;
    Ok(columns.ids.into_iter().map(EventId::from).collect())
}
