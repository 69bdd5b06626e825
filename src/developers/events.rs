//! The log of published events, as a read-only resource.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::columns;
use crate::developers::state::Developers;
use crate::kernel::ids::EventId;
use crate::resources::{FieldDoc, Filter, Resource};

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
    type State = Developers;

    const SINGULAR: &'static str = "event";
    const PLURAL: &'static str = "events";
    const TABLE: &'static str = "event_log";
    const FILTERS: &'static [Filter] = &[Filter::text("event"), Filter::any_id("subject").on("subject_id")];

    /// The fields of the envelope, and the record that the event is about.
    fn shown(&self) -> Map<String, Value> {
        let mut members: Map<String, Value> = serde_json::from_slice(&self.body).expect("the body of an event is always a JSON object");
        members.insert("subject".to_owned(), json!(self.subject_id));
        members.insert("sequence".to_owned(), json!(self.sequence));
        members
    }

    fn read_only_fields() -> Vec<FieldDoc> {
        vec![
            FieldDoc::with_schema("api_version", "The version of the API that produced the event.", json!({ "type": "string" })),
            FieldDoc::with_schema("event", "The name of the event.", json!({ "type": "string" })),
            FieldDoc::with_schema("data", "The data of the event. The event type defines its schema.", json!({ "type": "object" })),
            FieldDoc::with_schema(
                "subject",
                "The record that the event is about.",
                json!({ "type": ["string", "null"], "format": "uuid" }),
            ),
            FieldDoc::with_schema(
                "sequence",
                "The sequence number among the events about that record.",
                json!({ "type": ["integer", "null"] }),
            ),
        ]
    }
}
