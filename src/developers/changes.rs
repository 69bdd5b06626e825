//! The audit trail ([`crate::audit_trail`]), as a read-only resource that requires the scope `admin`.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::audit_trail::{Action, ChangedRecord};
use crate::callers::{Scope, Who};
use crate::developers::state::Developers;
use crate::kernel::ids::ChangeId;
use crate::resources::{FieldDoc, Filter, Resource};
use crate::{columns, members};

columns! {
    /// An entry of the audit trail.
    pub struct LoggedChange {
        /// What was done.
        pub action: String,
        /// The kind of the record.
        pub kind: String,
        /// The record.
        pub record_id: Uuid,
        /// The fields that an update changed.
        pub fields: Vec<String>,
        /// The kind of caller.
        pub caller: String,
        /// The API key or operator.
        pub caller_id: Option<Uuid>,
        /// The id of the request.
        pub request_id: Option<String>,
    }
}

impl Resource for LoggedChange {
    type Id = ChangeId;
    type State = Developers;

    const SINGULAR: &'static str = "change";
    const PLURAL: &'static str = "changes";
    const TABLE: &'static str = "change_log";
    const FILTERS: &'static [Filter] = &[
        Filter::one_of("action", Action::NAMES),
        Filter::one_of("kind", ChangedRecord::KINDS),
        Filter::any_id("record").on("record_id"),
        Filter::one_of("caller", Who::KINDS),
        Filter::any_id("caller_id"),
    ];
    /// It says who has which access.
    const READING: Scope = Scope::Admin;

    fn shown(&self) -> Map<String, Value> {
        let record =
            ChangedRecord::read(&self.kind, self.record_id).map_or_else(|| self.record_id.to_string(), |record| record.to_string());
        members! {
            "action": self.action,
            "kind": self.kind,
            "record": record,
            "fields": self.fields,
            "caller": self.caller,
            "caller_id": Who::read(&self.caller, self.caller_id).and_then(Who::shown_id),
            "request_id": self.request_id,
        }
    }

    fn read_only_fields() -> Vec<FieldDoc> {
        let text_or_null = || json!({ "type": ["string", "null"] });
        vec![
            FieldDoc::with_schema("action", "What was done to the record.", json!({ "enum": Action::NAMES })),
            FieldDoc::with_schema("kind", "The kind of the record.", json!({ "enum": ChangedRecord::KINDS })),
            FieldDoc::with_schema("record", "The id of the record.", json!({ "type": "string" })),
            FieldDoc::with_schema(
                "fields",
                "The names of the fields that an update changed. Their values are not kept.",
                json!({ "type": "array", "items": { "type": "string" } }),
            ),
            FieldDoc::with_schema(
                "caller",
                "Who made the change: an API key, an operator, somebody on the command line, or the service itself.",
                json!({ "enum": Who::KINDS }),
            ),
            FieldDoc::with_schema("caller_id", "The id of the API key or operator.", text_or_null()),
            FieldDoc::with_schema("request_id", "The `X-Request-Id` of the request that made the change.", text_or_null()),
        ]
    }
}
