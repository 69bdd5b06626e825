//! Forwarding: what a delivery says besides its body, for an event that somebody reads along and passes on by themselves.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use chrono::{DateTime, Utc};

use crate::kernel::ids::{DeliveryId, EventId};
use crate::webhooks::sending::USER_AGENT;
use crate::webhooks::signature::SigningSecrets;
use crate::webhooks::subscription::{SignatureFormat, SigningSecret};

/// Passes events on, signed with a secret of its own.
#[derive(Debug)]
pub struct Forwarder(SigningSecrets);

impl Forwarder {
    /// Signs with `secret`.
    pub fn new(secret: SigningSecret) -> Self {
        Self(SigningSecrets { current: secret, previous: None })
    }

    /// The headers of the first attempt of a delivery (decisions, section 7, Headers). No such delivery is in the log.
    pub fn headers(&self, event: EventId, name: &str, body: &[u8], at: DateTime<Utc>) -> HeaderMap {
        let id = event.to_string();
        let headers = [
            (header::CONTENT_TYPE, "application/json".to_owned()),
            (header::USER_AGENT, USER_AGENT.to_owned()),
            (HeaderName::from_static("x-service-signature"), self.0.service_signature(SignatureFormat::Bare, body)),
            (HeaderName::from_static("x-service-event"), name.to_owned()),
            (HeaderName::from_static("x-service-delivery"), DeliveryId::new(at).to_string()),
            (HeaderName::from_static("x-service-attempt"), "1".to_owned()),
            (HeaderName::from_static("webhook-timestamp"), at.timestamp().to_string()),
            (HeaderName::from_static("webhook-signature"), self.0.standard_signature(&id, at, body)),
            (HeaderName::from_static("webhook-id"), id),
        ];
        // A name that is no header value is none of ours, and goes without.
        headers.into_iter().filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?))).collect()
    }
}
