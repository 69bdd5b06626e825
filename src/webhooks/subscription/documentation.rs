//! The OpenAPI description of the fields of a webhook.

use serde_json::json;

use crate::resources::{Described, Instant, Line};

pub(super) fn members() -> Vec<Described> {
    let url = json!({ "type": "string", "format": "uri", "pattern": "^https://" });
    let events = json!({ "type": "array", "items": { "type": "string" } });
    let headers = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    vec![
        Described::formed("url", "Where deliveries are sent.", url).and_needed(),
        Described::sent::<Option<Line<255>>>("description", "What it is for."),
        Described::formed("events", "Names of events, or groups such as order.*; none, or *, is all of them.", events).and_sent(),
        Described::formed("status", "Whether deliveries are made.", json!({ "enum": ["enabled", "disabled"] })).and_sent(),
        Described::formed("disabled_reason", "Why not.", json!({ "enum": ["requested", "gone", "failing", null] })),
        Described::shown::<Option<Instant>>("disabled_at", "Since when not."),
        Described::formed("api_version", "The version of the envelope.", json!({ "enum": ["1.0"] })).and_sent(),
        Described::formed("signature_format", "How X-Service-Signature is written.", json!({ "enum": ["bare", "prefixed"] })).and_sent(),
        Described::formed("headers", "Further headers; their values are masked when they are shown.", headers).and_sent(),
        Described::formed("timeout", "Seconds for an attempt.", json!({ "type": "integer", "minimum": 1, "maximum": 30 })).and_sent(),
        Described::formed("rate_limit", "Attempts a second.", json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 1000 }))
            .and_sent(),
        Described::formed("ordering", "What waits for what.", json!({ "enum": ["none", "resource"] })).and_sent(),
        Described::shown::<Option<Instant>>("previous_secret_until", "How long the secret before is valid, too."),
        Described::formed("health", "How the last day went; only where one webhook is found.", json!({ "type": "object" })),
    ]
}
