//! `GET /openapi.json`: the descriptions of all modules in one document.

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::{Value, json};

use crate::kernel::openapi::Description;

/// The route. The document is built once. It is the same for all clients, and contains nothing beyond this repository and the
/// deployment's files.
pub(super) fn routes<S: Clone + Send + Sync + 'static>(description: Description) -> Router<S> {
    let document = Bytes::from(serde_json::to_vec(&document(description)).expect("a JSON value can always be serialized"));
    let show = async move || ([(header::CONTENT_TYPE, "application/json")], document.clone()).into_response();
    Router::new().route("/openapi.json", get(show))
}

fn document(description: Description) -> Value {
    let (paths, schemas) = description.into_parts();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Portico",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The storefront API for a shop's apps; the extension resources: five routes for each type of record, and \
                            additional routes for some; and the routes for payment gateways and the socket server.",
        },
        "security": [{ "api_key": [] }],
        "paths": paths,
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
