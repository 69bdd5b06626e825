//! Forwarding: builds the delivery headers for an event that a caller reads and forwards itself, outside the hub.

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};

use crate::events::EventName;
use crate::kernel::ids::{DeliveryId, EventId};
use crate::webhooks::endpoint::{self, AttemptHeaders, ExtraHeaders, Headers, SignatureFormat, SigningSecret, SigningSecrets};

/// An event to forward.
#[derive(Debug)]
pub struct ReadEvent<'a> {
    /// The event id.
    pub id: EventId,
    /// The event name.
    pub name: &'a EventName,
    /// The sequence number among the events about the same record; `None` if the event is not about a record.
    pub sequence: Option<i64>,
    /// The bytes that are signed and sent.
    pub body: &'a [u8],
}

/// Forwards events, signed with its own secret.
#[derive(Debug)]
pub struct Forwarder {
    secrets: SigningSecrets,
    /// The headers that are the same in every request.
    headers: Headers,
}

impl Forwarder {
    /// Creates a forwarder that signs with `secret`.
    pub fn new(secret: SigningSecret) -> Self {
        Self { secrets: SigningSecrets { current: secret, previous: None }, headers: endpoint::beginning(&ExtraHeaders::default()) }
    }

    /// Builds the headers of a first attempt. The delivery id is new, and no such delivery is in the log.
    pub fn headers(&self, event: &ReadEvent<'_>, at: DateTime<Utc>) -> HeaderMap {
        let attempt = AttemptHeaders {
            delivery: DeliveryId::new(at),
            number: 1,
            event: event.id,
            event_name: event.name.as_str(),
            sequence: event.sequence,
            body: event.body,
            at,
            trace: None,
        };
        self.headers.clone().with_attempt(&attempt, &self.secrets, SignatureFormat::Bare).map
    }
}
