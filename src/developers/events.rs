//! The log of published events, as a read-only resource.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::callers::{Area, Owner};
use crate::developers::state::Developers;
use crate::events::Catalogue;
use crate::kernel::ids::EventId;
use crate::kernel::request_id::RequestId;
use crate::resources::{Columns, LoggedEventName, Owned, Resource};

crate::read_only! {
    /// A published event.
    pub struct LoggedEvent {
        /// The name of the event.
        #[filtered]
        event: LoggedEventName,
        /// The record that the event is about.
        #[filtered]
        subject_id as "subject": Option<Uuid>,
        /// The sequence number among the events about that record.
        sequence: Option<i64>,
        /// Who of the company's own customers the event is for. Subscribers do not receive it.
        #[filtered]
        owner: Option<Owner>,
        /// The `X-Request-Id` of the request that published the event. Subscribers do not receive it.
        #[filtered]
        request_id: Option<RequestId>,
    }
    computed {
        /// The version of the API that produced the event.
        api_version: String,
        /// The data of the event. The event type defines its schema. Null for an operator whose role does not reach what the event is about.
        data: Option<Map<String, Value>>,
    }
    hidden {
        /// The envelope: the bytes that every subscriber receives.
        body: Vec<u8>,
    }
}

impl Resource for LoggedEvent {
    type Id = EventId;
    type State = Developers;

    const SINGULAR: &'static str = "event";
    const PLURAL: &'static str = "events";
    const AREA: Area = Area::Traffic;
    const TABLE: &'static str = "event_log";
    const OWNED: Option<Owned> = Some(Owned::Itself);
    const EVENT_DATA: &'static [&'static str] = &["data"];

    fn catalogue(developers: &Developers) -> Option<&Catalogue> {
        Some(&developers.catalogue)
    }

    /// The fields of the envelope come first, in its order.
    fn shown(&self) -> Map<String, Value> {
        let mut members: Map<String, Value> = serde_json::from_slice(&self.body).expect("the body of an event is always a JSON object");
        members.extend(self.members());
        members
    }
}
