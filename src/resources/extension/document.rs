//! The document of all extensions: OpenAPI 3.1.

use serde_json::{Map, Value, json};

use crate::resources::extension::Description;

/// Puts the descriptions of many extensions together.
pub fn document(descriptions: impl IntoIterator<Item = Description>) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::from_iter([("problem".to_owned(), problem())]));
    for description in descriptions {
        for route in description.routes {
            let path = paths.entry(route.path).or_insert_with(|| Map::new().into());
            path[route.method.as_str().to_lowercase()] = route.operation;
        }
        schemas.extend(description.schemas);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Portico",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Extension resources: five routes for each kind of record, and some beside them.",
        },
        "security": [{ "api_key": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "api_key": { "type": "http", "scheme": "bearer", "description": "An API key of the company: `key_…`." } },
            "schemas": schemas,
        },
    })
}

/// RFC 9457, with the members that every refusal has.
fn problem() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "code": { "description": "The refusal, out of the list at /problems.", "type": "string" },
            "detail": { "description": "A sentence that a customer may read.", "type": "string" },
            "error": { "type": "string" },
            "errors": { "type": "array", "items": { "type": "string" } },
            "request_id": { "type": "string" },
            "fields": {
                "description": "What is wrong with each member of a body.",
                "type": "object",
                "additionalProperties": { "type": "array", "items": { "type": "string" } },
            },
            "parameter": { "description": "The parameter that is wrong.", "type": "string" },
            "retry_after": { "description": "Seconds to wait.", "type": "integer" },
        },
        "required": ["type", "title", "status", "code", "detail", "error", "errors", "request_id"],
    })
}
