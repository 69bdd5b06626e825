//! `GET /openapi.json`: the descriptions of all modules in one document.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};

use crate::events::{Catalogue, EventType};
use crate::handbook::Handbook;
use crate::kernel::openapi::{self, Description};
use crate::kernel::routing::get;

/// The route. The document is the same for all clients, and contains nothing beyond this repository and the deployment's files. It is
/// written once, when it is asked for first.
pub(super) fn routes<S: Clone + Send + Sync + 'static>(handbook: Handbook) -> Router<S> {
    let written = Arc::new(OnceLock::new());
    let show = async move || {
        let write = || Bytes::from(serde_json::to_vec(handbook.document()).expect("a JSON value can always be serialized"));
        ([(header::CONTENT_TYPE, "application/json")], written.get_or_init(write).clone()).into_response()
    };
    Router::new().route("/openapi.json", get(show))
}

/// The Webhooks Object: for each event type the request that subscribers receive.
fn webhooks(catalogue: &Catalogue) -> Map<String, Value> {
    catalogue.iter().map(|event_type| (event_type.name.to_string(), json!({ "post": delivery(event_type) }))).collect()
}

/// The headers of a delivery, and what they say.
const HEADERS: [(&str, &str); 8] = [
    ("webhook-id", "The id of the event: the same on every attempt."),
    ("webhook-timestamp", "When this attempt was made, in seconds since 1970."),
    ("webhook-signature", "The signatures of Standard Webhooks, separated by spaces: one for each secret that is in use."),
    ("X-Service-Signature", "The HMAC-SHA256 over the body, keyed with the signing secret."),
    ("X-Service-Event", "The name of the event."),
    ("X-Service-Delivery", "The id of the delivery."),
    ("X-Service-Attempt", "The number of the attempt, from 1."),
    ("X-Service-Sequence", "The number of the event among those about the same record."),
];

fn delivery(event_type: &EventType) -> Value {
    let body = json!({ "schema": event_type.schema(), "example": event_type.sample_body() });
    json!({
        "tags": [event_type.namespace],
        "summary": event_type.meaning,
        "security": [],
        "parameters": HEADERS.iter().map(|(name, sentence)| openapi::header(name, sentence)).collect::<Vec<_>>(),
        "requestBody": { "description": "The event.", "required": true, "content": { "application/json": body } },
        "responses": {
            "2XX": { "description": "The event arrived. The body of the answer is logged and means nothing." },
            "410": { "description": "Nobody wants events here any more: the webhook is disabled." },
            "default": { "description": "The event did not arrive, and is sent again later." },
        },
    })
}

/// The whole document.
pub(super) fn document(description: Description, catalogue: &Catalogue) -> Value {
    let (paths, schemas) = description.into_parts();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Portico",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The storefront API for a shop's apps; the extension resources: five routes for each type of record, and \
                            additional routes for some; the routes for payment gateways and the socket server; and, as webhooks, the \
                            events that subscribers receive.",
        },
        "security": [{ "api_key": [] }],
        "paths": paths,
        "webhooks": webhooks(catalogue),
        "components": {
            "securitySchemes": {
                "api_key": { "type": "http", "scheme": "bearer", "description": "An API key of the company: `key_…`." },
                "store_key": { "type": "http", "scheme": "bearer", "description": "The key of a store, used by the store's apps: `store_…`." },
                "customer_token": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Customer-Token",
                    "description": "The token that the customer received at sign-in.",
                },
                "socket_signature": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Socket-Signature",
                    "description": "The signature of the socket server: the HMAC-SHA256 over `timestamp.body` with `socket.key`, in \
                                    lower-case hex. `timestamp` is the value of the header `X-Socket-Timestamp`.",
                },
            },
            "schemas": schemas,
        },
    })
}
