//! The body that subscribers receive, serialized once.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::events::EventName;
use crate::kernel::clock;
use crate::kernel::ids::EventId;

/// The version of the event format.
pub const API_VERSION: &str = "1.0";

/// An event as it is sent, with the fields in this order. Decisions, section 7.
#[derive(Debug, Serialize)]
pub struct Envelope<'a> {
    /// The event id, which subscribers use to deduplicate.
    pub id: EventId,
    /// The version of the event format.
    pub api_version: &'a str,
    /// The event name.
    pub event: &'a EventName,
    /// When the event happened.
    #[serde(serialize_with = "clock::as_timestamp")]
    pub created_at: DateTime<Utc>,
    /// The record that the event is about.
    pub data: &'a EventData,
}

/// The `data` of an event, written as it is sent.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct EventData(Box<RawValue>);

impl From<&Map<String, Value>> for EventData {
    fn from(members: &Map<String, Value>) -> Self {
        Self(to_raw_value(members).expect("an object can always be serialized"))
    }
}

impl From<Map<String, Value>> for EventData {
    fn from(members: Map<String, Value>) -> Self {
        Self::from(&members)
    }
}

/// More than an envelope has beside its data.
const ROOM_BESIDE_DATA: usize = 256;

impl Envelope<'_> {
    /// The bytes that are stored and signed, and sent on every attempt.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.data.0.get().len() + ROOM_BESIDE_DATA);
        serde_json::to_writer(&mut bytes, self).expect("an envelope can always be serialized");
        bytes
    }
}
