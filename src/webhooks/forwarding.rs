//! Forwarding: what a delivery says besides its body, for an event that somebody reads along and passes on by themselves.

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};

use crate::events::EventName;
use crate::kernel::ids::{DeliveryId, EventId};
use crate::webhooks::endpoint;
use crate::webhooks::headers::{Headers, Telling};
use crate::webhooks::signature::SigningSecrets;
use crate::webhooks::subscription::{ExtraHeaders, SignatureFormat, SigningSecret};

/// An event that somebody read.
#[derive(Debug)]
pub struct ReadEvent<'a> {
    /// Its id.
    pub id: EventId,
    /// What happened.
    pub name: &'a EventName,
    /// Its place among those about its record, where it is about one.
    pub sequence: Option<i64>,
    /// The bytes that are signed and sent.
    pub body: &'a [u8],
}

/// Passes events on, signed with a secret of its own.
#[derive(Debug)]
pub struct Forwarder {
    secrets: SigningSecrets,
    /// The headers that are the same in every request.
    headers: Headers,
}

impl Forwarder {
    /// Signs with `secret`.
    pub fn new(secret: SigningSecret) -> Self {
        Self { secrets: SigningSecrets { current: secret, previous: None }, headers: endpoint::beginning(&ExtraHeaders::default()) }
    }

    /// The headers of the first attempt of a delivery. No such delivery is in the log.
    pub fn headers(&self, event: &ReadEvent<'_>, at: DateTime<Utc>) -> HeaderMap {
        let told = Telling {
            delivery: DeliveryId::new(at),
            attempt: 1,
            event: event.id,
            event_name: event.name.as_str(),
            sequence: event.sequence,
            body: event.body,
            at,
        };
        self.headers.clone().telling(&told, &self.secrets, SignatureFormat::Bare).map
    }
}
