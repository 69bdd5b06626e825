//! Writes events in the transaction that causes them.

use std::borrow::Borrow;

use chrono::{DateTime, Utc};

use crate::events::{Columns, NewEvent, queries};
use crate::kernel::database::Connection;
use crate::kernel::ids::EventId;

/// Publishes an event if and only if the caller's transaction commits.
pub async fn publish(conn: &mut Connection, event: NewEvent, now: DateTime<Utc>) -> Result<EventId, sqlx::Error> {
    let ids = publish_all(conn, &[event], now).await?;
    Ok(ids[0])
}

/// Publishes many events in one statement, if and only if the caller's transaction commits. Returns their ids in the same order.
pub async fn publish_all(conn: &mut Connection, events: &[impl Borrow<NewEvent>], now: DateTime<Utc>) -> Result<Vec<EventId>, sqlx::Error> {
    insert(conn, events, true, now).await
}

/// Publishes like [`publish_all`], but does not notify. The caller must call [`CommitNotifier::committed`](crate::events::CommitNotifier::committed) after the commit.
pub async fn publish_without_notify(
    conn: &mut Connection,
    events: &[impl Borrow<NewEvent>],
    now: DateTime<Utc>,
) -> Result<Vec<EventId>, sqlx::Error> {
    insert(conn, events, false, now).await
}

async fn insert(
    conn: &mut Connection,
    events: &[impl Borrow<NewEvent>],
    notifies: bool,
    now: DateTime<Utc>,
) -> Result<Vec<EventId>, sqlx::Error> {
    let columns = Columns::of(events, now);
    queries::insert_events(conn, &columns, notifies, now).await?;
    Ok(columns.ids.into_iter().map(EventId::from).collect())
}
