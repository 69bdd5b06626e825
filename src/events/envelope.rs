//! The body that subscribers receive, serialized once.

use chrono::{DateTime, Utc};
use serde::Serialize;
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
    pub data: &'a Map<String, Value>,
}

impl Envelope<'_> {
    /// The bytes that are stored and signed, and sent on every attempt.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an envelope holds nothing that JSON cannot write")
    }
}
