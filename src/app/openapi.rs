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
    let document = Bytes::from(serde_json::to_vec(&document(description)).expect("a document of JSON is JSON"));
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
            "description": "The storefront that a shop's apps ask; and extension resources: five routes for each kind of record, and some \
                            beside them.",
        },
        "security": [{ "api_key": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "api_key": { "type": "http", "scheme": "bearer", "description": "An API key of the company: `key_…`." },
                "store_key": { "type": "http", "scheme": "bearer", "description": "The key of a store, which its apps know: `store_…`." },
                "customer_token": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Customer-Token",
                    "description": "What a customer was given when they signed in.",
                },
            },
            "schemas": schemas,
        },
    })
}
