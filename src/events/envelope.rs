//! The body a subscriber receives, serialised once.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::events::EventName;
use crate::kernel::clock;
use crate::kernel::ids::EventId;

/// The version of the event format.
pub const API_VERSION: &str = "1.0";

/// An event as it is sent; the members stand in this order (decisions, section 7).
#[derive(Debug, Serialize)]
pub struct Envelope<'a> {
    /// The subscriber's key for duplicates.
    pub id: EventId,
    /// Version of the format.
    pub api_version: &'a str,
    /// What happened.
    pub event: &'a EventName,
    /// When it happened.
    #[serde(serialize_with = "clock::as_timestamp")]
    pub created_at: DateTime<Utc>,
    /// The record it happened to.
    pub data: &'a Map<String, Value>,
}

impl Envelope<'_> {
    /// The bytes that are stored, signed and sent, on every attempt.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an envelope holds nothing that JSON cannot write")
    }
}
