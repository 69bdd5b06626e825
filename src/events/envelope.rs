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

/// An envelope without a name and without data. All ids and all times are equally long.
const FRAME: &str =
    r#"{"id":"event_00000000000000000000000000","api_version":"1.0","event":"","created_at":"1970-01-01T00:00:00.000+00:00","data":}"#;

impl Envelope<'_> {
    /// The bytes that are stored and signed, and sent on every attempt.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::size(self.event, self.data));
        serde_json::to_writer(&mut bytes, self).expect("an envelope can always be serialized");
        bytes
    }

    /// How many these will be. JSON escapes nothing in a name.
    pub fn size(event: &EventName, data: &EventData) -> usize {
        FRAME.len() + event.as_str().len() + data.0.get().len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_size_is_known_before_the_bytes() {
        let name: EventName = "proof_of_delivery.created".parse().unwrap();
        for (id, created_at) in [(Uuid::nil(), DateTime::UNIX_EPOCH), (Uuid::max(), "2026-12-07T12:30:59.987654321Z".parse().unwrap())] {
            for data in [json!({}), json!({ "note": "\"Größe\"\n", "price": 1.5, "parts": [null, true] })] {
                let data = EventData::from(data.as_object().unwrap());
                let envelope = Envelope { id: id.into(), api_version: API_VERSION, event: &name, created_at, data: &data };
                assert_eq!(envelope.to_bytes().len(), Envelope::size(&name, &data), "{envelope:?}");
            }
        }
    }
}
