//! The audit trail ([`crate::audit_trail`]), as a read-only resource that requires the scope `admin`.

use serde_json::{Map, Value, json};

use crate::audit_trail::{Action, ChangedRecord};
use crate::callers::{Area, Scope, Who};
use crate::developers::state::Developers;
use crate::kernel::ids::{AnyId, ChangeId};
use crate::resources::{Columns, LoggedRequestId, Resource, TextEnum, Word};

impl TextEnum for Action<'static> {
    const VARIANTS: &'static [&'static str] = Self::NAMES;
}

impl TextEnum for ChangedRecord {
    const VARIANTS: &'static [&'static str] = Self::KINDS;
}

impl TextEnum for Who {
    const VARIANTS: &'static [&'static str] = Self::KINDS;
}

crate::read_only! {
    /// An entry of the audit trail.
    pub struct LoggedChange {
        /// What was done to the record.
        #[filtered]
        action: Word<Action<'static>>,
        /// The kind of the record.
        #[filtered]
        kind: Word<ChangedRecord>,
        /// The id of the record.
        #[filtered]
        record_id as "record": AnyId,
        /// The names of the fields that an update changed. Their values are not kept.
        fields: Vec<String>,
        /// Who made the change: an API key, an operator, somebody with a portal link, somebody on the command line, or the service itself.
        #[filtered]
        caller: Word<Who>,
        /// The id of the API key, operator or portal link.
        #[filtered]
        caller_id: Option<AnyId>,
        /// The `X-Request-Id` of the request that made the change.
        #[filtered]
        request_id: Option<LoggedRequestId>,
    }
}

impl Resource for LoggedChange {
    type Id = ChangeId;
    type State = Developers;

    const SINGULAR: &'static str = "change";
    const PLURAL: &'static str = "changes";
    const AREA: Area = Area::Administration;
    const TABLE: &'static str = "change_log";
    /// It says who has which access.
    const READING: Scope = Scope::Admin;

    /// Both ids in the form of their kind.
    fn shown(&self) -> Map<String, Value> {
        let mut members = self.members();
        if let Some(record) = ChangedRecord::read(&self.kind, self.record_id) {
            members["record"] = record.to_string().into();
        }
        members["caller_id"] = json!(Who::read(&self.caller, self.caller_id).and_then(Who::shown_id));
        members
    }
}
