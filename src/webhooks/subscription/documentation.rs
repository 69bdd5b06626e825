//! The OpenAPI description of the fields of a webhook.

use serde_json::json;

use crate::resources::{Described, Instant, Line};

pub(super) fn members() -> Vec<Described> {
    let url = json!({ "type": "string", "format": "uri", "pattern": "^https://" });
    let events = json!({ "type": "array", "items": { "type": "string" } });
    let headers = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    vec![
        Described::formed("url", "The URL that events are posted to.", url).and_needed(),
        Described::sent::<Option<Line<255>>>("description", "A description for the owner."),
        Described::formed("events", "Event names, or groups such as order.*. An empty list or * means all events.", events).and_sent(),
        Described::formed("status", "Whether deliveries are made.", json!({ "enum": ["enabled", "disabled"] })).and_sent(),
        Described::formed("disabled_reason", "Why the webhook is disabled.", json!({ "enum": ["requested", "gone", "failing", null] })),
        Described::shown::<Option<Instant>>("disabled_at", "When the webhook was disabled."),
        Described::formed("api_version", "The version of the event envelope.", json!({ "enum": ["1.0"] })).and_sent(),
        Described::formed("signature_format", "The format of X-Service-Signature.", json!({ "enum": ["bare", "prefixed"] })).and_sent(),
        Described::formed("headers", "Additional headers of every POST. Responses mask the values.", headers).and_sent(),
        Described::formed("timeout", "The timeout of an attempt, in seconds.", json!({ "type": "integer", "minimum": 1, "maximum": 30 }))
            .and_sent(),
        Described::formed(
            "rate_limit",
            "The maximum number of attempts per second. Null means no limit.",
            json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 1000 }),
        )
        .and_sent(),
        Described::formed(
            "ordering",
            "Whether the next delivery of a record waits for the previous one.",
            json!({ "enum": ["none", "resource"] }),
        )
        .and_sent(),
        Described::shown::<Option<Instant>>("previous_secret_until", "Until when the previous signing secret signs as well."),
        Described::formed(
            "health",
            "The health of the last day. Only shown when a single webhook is requested.",
            json!({ "type": "object" }),
        ),
    ]
}
