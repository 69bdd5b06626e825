//! Headers in two forms: as they are sent, and as the log keeps them, in JSON text.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use chrono::{DateTime, Utc};

use crate::kernel::ids::{DeliveryId, EventId};
use crate::kernel::traces::{TRACEPARENT, TraceContext};
use crate::webhooks::endpoint::{SignatureFormat, SigningSecrets};

/// Maximum number of bytes of the response headers that are logged.
const MAX_LOGGED_HEADERS_LEN: usize = 16 * 1024;
/// The headers that prove a request to come from this service. The first one has no time within it, so whoever has it can send the request
/// again for as long as the secret is in use.
pub const SIGNATURES: [&str; 2] = ["x-service-signature", "webhook-signature"];
/// The number of headers of one attempt, and the bytes that they usually take in the log.
const ATTEMPT_HEADERS: usize = 9;
const ATTEMPT_HEADERS_LEN: usize = 640;

/// The facts about one attempt that its headers contain.
#[derive(Debug)]
pub struct AttemptHeaders<'a> {
    pub delivery: DeliveryId,
    /// The attempt number, from 1.
    pub number: i16,
    pub event: EventId,
    pub event_name: &'a str,
    /// The sequence number among the events about the same record; `None` if the event is not about a record.
    pub sequence: Option<i64>,
    /// The bytes that are signed and sent.
    pub body: &'a [u8],
    pub at: DateTime<Utc>,
    /// The span of the attempt, if it is recorded.
    pub trace: Option<TraceContext>,
}

#[derive(Clone, Debug)]
pub struct Headers {
    pub map: HeaderMap,
    /// The headers as a JSON object, complete after every step.
    pub logged: String,
}

impl Headers {
    /// Creates the headers that many requests share, and their logged form. The headers of each attempt are added to a clone.
    pub fn beginning_with(map: HeaderMap, logged: &HeaderMap) -> Self {
        Self { logged: as_json(logged), map }
    }

    /// Adds the headers about an attempt and its signatures (decisions, section 7, Headers).
    pub fn with_attempt(mut self, attempt: &AttemptHeaders<'_>, secrets: &SigningSecrets, format: SignatureFormat) -> Self {
        self.map.reserve(ATTEMPT_HEADERS);
        self.logged.reserve(ATTEMPT_HEADERS_LEN);
        let event = attempt.event.to_string();
        let [service_signature, standard_signature] = SIGNATURES;
        self.insert(service_signature, secrets.service_signature(format, attempt.body));
        self.insert("x-service-delivery", attempt.delivery.to_string());
        self.insert("x-service-attempt", attempt.number.to_string());
        self.insert("x-service-event", attempt.event_name.to_owned());
        if let Some(sequence) = attempt.sequence {
            self.insert("x-service-sequence", sequence.to_string());
        }
        self.insert("webhook-timestamp", attempt.at.timestamp().to_string());
        self.insert(standard_signature, secrets.standard_signature(&event, attempt.at, attempt.body));
        self.insert("webhook-id", event);
        // One that the subscriber has among its additional headers is there for a reason of its own.
        if let Some(trace) = attempt.trace.filter(|_| !self.map.contains_key(TRACEPARENT)) {
            self.insert("traceparent", trace.to_string());
        }
        self
    }

    /// Sets a header of the service. `value` must not contain characters that JSON escapes.
    fn insert(&mut self, name: &'static str, value: String) {
        let before_the_end = self.logged.len() - 1;
        self.logged.truncate(before_the_end);
        if before_the_end > 1 {
            self.logged.push(',');
        }
        for part in ["\"", name, "\":\"", &value, "\"}"] {
            self.logged.push_str(part);
        }
        self.map
            .insert(HeaderName::from_static(name), HeaderValue::try_from(value).expect("ids, event names, numbers and digests are ASCII"));
    }
}

/// Formats headers as a JSON object. The values of a repeated header are joined, as HTTP allows. Headers that exceed the limit are
/// cut off, as the body is.
pub fn as_json(headers: &HeaderMap) -> String {
    let (mut json, mut budget) = (String::from("{"), MAX_LOGGED_HEADERS_LEN);
    for name in headers.keys() {
        let values: Vec<_> = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        let value = values.join(", ");
        let Some(left) = budget.checked_sub(name.as_str().len() + value.len()) else { break };
        budget = left;
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
        headers.insert("x-long", HeaderValue::from_bytes(&[b'x'; MAX_LOGGED_HEADERS_LEN]).unwrap());
        assert!(as_json(&headers).len() < 100);
    }
}
