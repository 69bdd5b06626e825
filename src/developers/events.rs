//! The log of published events, as a read-only resource.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::columns;
use crate::developers::Developers;
use crate::kernel::ids::EventId;
use crate::resources::{Described, Filter, Resource};

columns! {
    /// A published event.
    pub struct LoggedEvent {
        /// The envelope: the bytes that every subscriber receives.
        pub body: Vec<u8>,
        /// The record that the event is about.
        pub subject_id: Option<Uuid>,
        /// The sequence number among the events about that record.
        pub sequence: Option<i64>,
    }
}

impl Resource for LoggedEvent {
    type Id = EventId;
    type Room = Developers;

    const SINGULAR: &'static str = "event";
    const PLURAL: &'static str = "events";
    const TABLE: &'static str = "event_log";
    const FILTERS: &'static [Filter] = &[Filter::text("event"), Filter::any_id("subject").on("subject_id")];

    /// The fields of the envelope, and the record that the event is about.
    fn shown(&self) -> Map<String, Value> {
        let mut members: Map<String, Value> = serde_json::from_slice(&self.body).expect("events are published as JSON objects");
        members.insert("subject".to_owned(), json!(self.subject_id));
        members.insert("sequence".to_owned(), json!(self.sequence));
        members
    }

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::formed("api_version", "The version of the API that produced it.", json!({ "type": "string" })),
            Described::formed("event", "Its name.", json!({ "type": "string" })),
            Described::formed("data", "What it tells; its form is that of its kind.", json!({ "type": "object" })),
            Described::formed("subject", "The record it is about.", json!({ "type": ["string", "null"], "format": "uuid" })),
            Described::formed("sequence", "Its place among the events about that record.", json!({ "type": ["integer", "null"] })),
        ]
    }
}
