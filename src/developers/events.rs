//! Published events, as a resource that is only read.

use std::future::{Future, ready};

use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::columns;
use crate::developers::Developers;
use crate::kernel::ids::EventId;
use crate::resources::{Filter, Record, Resource};

columns! {
    /// An event as it was published.
    pub struct LoggedEvent {
        /// The envelope: the bytes every subscriber gets.
        pub body: Vec<u8>,
    }
}

impl Resource for LoggedEvent {
    type Id = EventId;
    type Room = Developers;

    const SINGULAR: &'static str = "event";
    const PLURAL: &'static str = "events";
    const TABLE: &'static str = "event_log";
    const FILTERS: &'static [Filter] = &[Filter::text("event")];

    /// The members of the envelope.
    fn present(
        _: &mut PgConnection,
        records: &[Record<Self>],
    ) -> impl Future<Output = Result<Vec<Map<String, Value>>, sqlx::Error>> + Send {
        let envelope = |record: &Record<Self>| serde_json::from_slice(&record.fields.body).expect("events are published as JSON objects");
        ready(Ok(records.iter().map(envelope).collect()))
    }
}
