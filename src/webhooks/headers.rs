//! Headers in two forms at once: as they are sent, and as the log keeps them, which is a JSON object in text.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use chrono::{DateTime, Utc};

use crate::kernel::ids::{DeliveryId, EventId};
use crate::webhooks::signature::SigningSecrets;
use crate::webhooks::subscription::SignatureFormat;

/// Bytes of an answer's headers that are logged at most.
const KEPT: usize = 16 * 1024;

/// One attempt to tell of an event, as far as its headers do.
#[derive(Debug)]
pub(super) struct Telling<'a> {
    pub(super) delivery: DeliveryId,
    /// Which attempt it is, from 1.
    pub(super) attempt: i16,
    pub(super) event: EventId,
    pub(super) event_name: &'a str,
    /// The event's place among those about its record, where it is about one.
    pub(super) sequence: Option<i64>,
    /// The bytes that are signed and sent.
    pub(super) body: &'a [u8],
    pub(super) at: DateTime<Utc>,
}

/// The headers of a request.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    pub(super) map: HeaderMap,
    /// A JSON object, complete after every step.
    pub(super) logged: String,
}

impl Headers {
    /// Headers that are the same in many requests, and what the log keeps of them; others are inserted into clones.
    pub(super) fn beginning_with(map: HeaderMap, logged: &HeaderMap) -> Self {
        Self { logged: as_json(logged), map }
    }

    /// Adds what is said of an attempt, and its signatures; decisions, section 7, Headers.
    pub(super) fn telling(mut self, told: &Telling<'_>, secrets: &SigningSecrets, format: SignatureFormat) -> Self {
        let event = told.event.to_string();
        self.insert("x-service-signature", secrets.service_signature(format, told.body));
        self.insert("x-service-delivery", told.delivery.to_string());
        self.insert("x-service-attempt", told.attempt.to_string());
        self.insert("x-service-event", told.event_name.to_owned());
        if let Some(sequence) = told.sequence {
            self.insert("x-service-sequence", sequence.to_string());
        }
        self.insert("webhook-timestamp", told.at.timestamp().to_string());
        self.insert("webhook-signature", secrets.standard_signature(&event, told.at, told.body));
        self.insert("webhook-id", event);
        self
    }

    /// Sets a header of our own: `value` is made of letters, digits and signs that mean nothing in JSON.
    fn insert(&mut self, name: &'static str, value: String) {
        let before_the_end = self.logged.len() - 1;
        self.logged.truncate(before_the_end);
        if before_the_end > 1 {
            self.logged.push(',');
        }
        for part in ["\"", name, "\":\"", &value, "\"}"] {
            self.logged.push_str(part);
        }
        self.map.insert(HeaderName::from_static(name), HeaderValue::try_from(value).expect("ids, names, numbers and digests are ASCII"));
    }
}

/// Headers as a JSON object in text; the values of a repeated one are joined, as HTTP allows. An endpoint that sends more than anybody
/// reads is cut short, as its body is.
pub(super) fn as_json(headers: &HeaderMap) -> String {
    let (mut json, mut room) = (String::from("{"), KEPT);
    for name in headers.keys() {
        let values: Vec<_> = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        let value = values.join(", ");
        let Some(left) = room.checked_sub(name.as_str().len() + value.len()) else { break };
        room = left;
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&format!("\"{name}\":{}", serde_json::Value::from(value)));
    }
    json.push('}');
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header;
    use serde_json::{Value, json};

    #[test]
    fn what_is_sent_is_what_is_logged() {
        let mut headers = Headers::beginning_with(HeaderMap::new(), &HeaderMap::new());
        headers.insert("webhook-id", "event_1".to_owned());
        headers.insert("webhook-timestamp", "7".to_owned());
        assert_eq!(headers.logged, r#"{"webhook-id":"event_1","webhook-timestamp":"7"}"#);
        assert_eq!(headers.map["webhook-timestamp"], "7");
        let further = Headers::beginning_with(headers.map.clone(), &headers.map);
        assert_eq!(serde_json::from_str::<Value>(&further.logged).unwrap()["webhook-id"], "event_1");
    }

    #[test]
    fn an_answers_headers_are_joined_escaped_and_cut_short() {
        let mut headers = HeaderMap::new();
        headers.append(header::SET_COOKIE, "a=\"1\"".parse().unwrap());
        headers.append(header::SET_COOKIE, HeaderValue::from_bytes(b"b=\xff").unwrap());
        assert_eq!(serde_json::from_str::<Value>(&as_json(&headers)).unwrap(), json!({ "set-cookie": "a=\"1\", b=\u{fffd}" }));
        headers.insert("x-long", HeaderValue::from_bytes(&[b'x'; KEPT]).unwrap());
        assert!(as_json(&headers).len() < 100);
    }
}
