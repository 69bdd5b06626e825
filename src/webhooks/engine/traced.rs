//! The traces that deliveries are part of.
//!
//! They are looked up by a statement of their own, and only while traces are recorded: the statements that move deliveries know nothing of
//! them.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::EventId;
use crate::kernel::traces::{Moment, SpanKind, TraceContext};
use crate::webhooks::Webhooks;
use crate::webhooks::engine::claim::oldest_recent;

/// The name of an event, and the span that it follows from.
#[derive(Debug)]
pub struct Traced {
    pub name: String,
    pub context: TraceContext,
}

/// Those of the events whose traces are recorded.
pub type TracedEvents = HashMap<EventId, Traced>;

impl Webhooks {
    /// Looks up the traces of events of the last day: all retries are made within it. Without them, deliveries are made all the same.
    pub(super) async fn traces_of(&self, conn: &mut Connection, events: impl Iterator<Item = EventId>) -> TracedEvents {
        if !self.delivering.traces.is_on() {
            return TracedEvents::new();
        }
        let events: BTreeSet<_> = events.map(EventId::uuid).collect();
        if events.is_empty() {
            return TracedEvents::new();
        }
        find_traces(conn, &Vec::from_iter(events), self.clock.now()).await.unwrap_or_else(|error| {
            tracing::warn!(error = chain(&error), "the traces of events could not be looked up; their deliveries are not recorded");
            TracedEvents::new()
        })
    }

    /// Records that these events were fanned out.
    pub(super) fn trace_fan_out(&self, fanned_out: &[EventId], traced: &TracedEvents, began: Moment) {
        for (event, Traced { name, context }) in fanned_out.iter().filter_map(|event| Some((event, traced.get(event)?))) {
            let span = self.delivering.traces.following(*context, SpanKind::Consumer, format!("fan out {name}"), began);
            if let Some(mut span) = span {
                span.set("portico.event.id", event.to_string());
            }
        }
    }
}

async fn find_traces(conn: &mut Connection, events: &[Uuid], now: DateTime<Utc>) -> Result<TracedEvents, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select id as "id!: EventId", name as "name!", trace as "trace!" from event_stream
           where id = any($1) and id >= $2 and trace is not null"#,
        events,
        oldest_recent(now),
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows.filter_map(|row| Some((row.id, Traced { name: row.name, context: TraceContext::from_bytes(&row.trace)? }))).collect())
}
