//! The OpenAPI description of the fields of a webhook.

use serde_json::json;

use crate::resources::{FieldDoc, Instant, Line};

pub(super) fn members() -> Vec<FieldDoc> {
    let url = json!({ "type": "string", "format": "uri", "pattern": "^https://" });
    let events = json!({ "type": "array", "items": { "type": "string" } });
    let headers = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    vec![
        FieldDoc::with_schema("url", "The URL that events are posted to.", url).and_required(true),
        FieldDoc::writable::<Option<Line<255>>>("description", "A description for the owner."),
        FieldDoc::with_schema("events", "Event names, or groups such as order.*. An empty list or * means all events.", events)
            .and_writable(),
        FieldDoc::with_schema("status", "Whether deliveries are made.", json!({ "enum": ["enabled", "disabled"] })).and_writable(),
        FieldDoc::with_schema("disabled_reason", "Why the webhook is disabled.", json!({ "enum": ["requested", "gone", "failing", null] })),
        FieldDoc::read_only::<Option<Instant>>("disabled_at", "When the webhook was disabled."),
        FieldDoc::with_schema("api_version", "The version of the event envelope.", json!({ "enum": ["1.0"] })).and_writable(),
        FieldDoc::with_schema("signature_format", "The format of X-Service-Signature.", json!({ "enum": ["bare", "prefixed"] }))
            .and_writable(),
        FieldDoc::with_schema("headers", "Additional headers of every POST. Responses mask the values.", headers).and_writable(),
        FieldDoc::with_schema(
            "timeout",
            "The timeout of an attempt, in seconds.",
            json!({ "type": "integer", "minimum": 1, "maximum": 30 }),
        )
        .and_writable(),
        FieldDoc::with_schema(
            "rate_limit",
            "The maximum number of attempts per second. Null means no limit.",
            json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 1000 }),
        )
        .and_writable(),
        FieldDoc::with_schema(
            "ordering",
            "Whether the next delivery of a record waits for the previous one.",
            json!({ "enum": ["none", "resource"] }),
        )
        .and_writable(),
        FieldDoc::read_only::<Option<Instant>>("previous_secret_until", "Until when the previous signing secret signs as well."),
        FieldDoc::with_schema(
            "health",
            "The health of the last day. Only shown when a single webhook is requested.",
            json!({ "type": "object" }),
        ),
    ]
}
