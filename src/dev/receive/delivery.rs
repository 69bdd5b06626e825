//! A received delivery, and its representation in a terminal.

use std::fmt::Write;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use chrono::{DateTime, Utc};
use serde_json::Value;

use super::verify::{SERVICE_SIGNATURE, STANDARD_SIGNATURE, Verdict, Verdicts};

/// A received POST request, with the verdicts and the response.
#[derive(Clone, Debug)]
pub struct ReceivedDelivery {
    /// When the last byte was received.
    pub received_at: DateTime<Utc>,
    /// The headers.
    pub headers: HeaderMap,
    /// The raw body, as it was signed.
    pub body: Bytes,
    /// The verdicts on its signatures.
    pub verdicts: Verdicts,
    /// The status code of the response.
    pub answer: StatusCode,
}

impl ReceivedDelivery {
    /// A paragraph for a terminal, with or without colours.
    #[must_use]
    pub fn render(&self, colours: bool) -> String {
        let paint = |code: &str, text: &str| {
            if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
        };
        let body: Option<Value> = serde_json::from_slice(&self.body).ok();
        let mut text = format!("{}  {}", self.received_at.format("%H:%M:%SZ"), paint("1", &self.event(body.as_ref())));
        for (label, name) in [("delivery", "X-Service-Delivery"), ("attempt", "X-Service-Attempt")] {
            if let Some(value) = self.header(name) {
                let _ = write!(text, "  {label} {value}");
            }
        }
        for (name, verdict) in [(SERVICE_SIGNATURE, self.verdicts.service), (STANDARD_SIGNATURE, self.verdicts.standard)] {
            let (code, word) = match verdict {
                Verdict::Verified => ("32", "verified"),
                Verdict::Wrong => ("1;31", "WRONG"),
                Verdict::Missing => ("33", "missing"),
                Verdict::NotChecked => ("2", "not checked"),
            };
            let _ = write!(text, "\n  {name:<20} {}", paint(code, word));
        }
        let _ = writeln!(text, "\n  {:<20} {}", "answered", self.answer.as_u16());
        let pretty = body.map(|body| format!("{body:#}").into_bytes());
        for line in printable(pretty.as_deref().unwrap_or(&self.body)).lines() {
            let _ = writeln!(text, "  {line}");
        }
        text
    }

    /// The event name from the header, or else from the envelope.
    fn event(&self, body: Option<&Value>) -> String {
        let in_envelope = || Some(printable(body?.get("event")?.as_str()?.as_bytes()));
        self.header("X-Service-Event").or_else(in_envelope).unwrap_or_else(|| "(no event name)".to_owned())
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).map(|value| printable(value.as_bytes()))
    }
}

/// The text without control characters, which could affect the terminal: any client that knows the port could send them.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().map(|it| if it.is_control() && it != '\n' { char::REPLACEMENT_CHARACTER } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(body: &'static str) -> ReceivedDelivery {
        ReceivedDelivery {
            received_at: "2026-06-01T14:03:07Z".parse().unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::from_static(body.as_bytes()),
            verdicts: Verdicts { service: Verdict::Verified, standard: Verdict::Wrong },
            answer: StatusCode::UNAUTHORIZED,
        }
    }

    #[test]
    fn a_delivery_reads_as_one_paragraph() {
        let mut delivery = delivery(r#"{"id":"event_1","event":"order.created","data":{"z":1,"a":[]}}"#);
        delivery.headers.insert("x-service-event", "order.created".parse().unwrap());
        delivery.headers.insert("x-service-delivery", "delivery_7".parse().unwrap());
        delivery.headers.insert("x-service-attempt", "2".parse().unwrap());
        let expected = r#"14:03:07Z  order.created  delivery delivery_7  attempt 2
  X-Service-Signature  verified
  webhook-signature    WRONG
  answered             401
  {
    "id": "event_1",
    "event": "order.created",
    "data": {
      "z": 1,
      "a": []
    }
  }
"#;
        assert_eq!(delivery.render(false), expected);
        assert!(delivery.render(true).contains("\x1b[32mverified\x1b[0m"));
    }

    #[test]
    fn a_body_that_drives_the_terminal_is_disarmed() {
        let shown = delivery("\x1b[2Jnot json\nsecond line").render(false);
        assert!(shown.starts_with("14:03:07Z  (no event name)\n"), "{shown}");
        assert!(shown.ends_with("  \u{fffd}[2Jnot json\n  second line\n"), "{shown}");
    }
}
