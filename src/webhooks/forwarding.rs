//! Forwarding: what a delivery says besides its body, for an event that somebody reads along and passes on by themselves.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use chrono::{DateTime, Utc};

use crate::kernel::ids::{DeliveryId, EventId};
use crate::webhooks::endpoint::USER_AGENT;
use crate::webhooks::signature::SigningSecrets;
use crate::webhooks::subscription::{SignatureFormat, SigningSecret};

/// An event that somebody read.
#[derive(Debug)]
pub struct ReadEvent<'a> {
    /// Its id.
    pub id: EventId,
    /// What happened.
    pub name: &'a str,
    /// Its place among those about its record, where it is about one.
    pub sequence: Option<i64>,
    /// The bytes that are signed and sent.
    pub body: &'a [u8],
}

/// Passes events on, signed with a secret of its own.
#[derive(Debug)]
pub struct Forwarder(SigningSecrets);

impl Forwarder {
    /// Signs with `secret`.
    pub fn new(secret: SigningSecret) -> Self {
        Self(SigningSecrets { current: secret, previous: None })
    }

    /// The headers of the first attempt of a delivery (decisions, section 7, Headers). No such delivery is in the log.
    pub fn headers(&self, event: &ReadEvent<'_>, at: DateTime<Utc>) -> HeaderMap {
        let id = event.id.to_string();
        let mut headers =
            HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json")), (header::USER_AGENT, USER_AGENT)]);
        let said = [
            ("x-service-signature", Some(self.0.service_signature(SignatureFormat::Bare, event.body))),
            ("x-service-event", Some(event.name.to_owned())),
            ("x-service-delivery", Some(DeliveryId::new(at).to_string())),
            ("x-service-attempt", Some("1".to_owned())),
            ("x-service-sequence", event.sequence.map(|sequence| sequence.to_string())),
            ("webhook-timestamp", Some(at.timestamp().to_string())),
            ("webhook-signature", Some(self.0.standard_signature(&id, at, event.body))),
            ("webhook-id", Some(id)),
        ];
        for (name, value) in said {
            // A name that is no header value is none of ours, and goes without.
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        headers
    }
}
