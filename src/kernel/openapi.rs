//! What is told about routes, in the words of OpenAPI 3.1. Whoever mounts a route tells of it in the same breath.

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::{Map, Value, json};

use crate::kernel::problem::ProblemCode;

/// What is told about some routes.
#[derive(Clone, Debug, Default)]
pub struct Description {
    routes: Vec<Route>,
    /// The forms that are told of once, by their names.
    schemas: Map<String, Value>,
}

#[derive(Clone, Debug)]
struct Route {
    method: Method,
    path: String,
    /// An OpenAPI Operation Object.
    operation: Value,
}

impl Description {
    /// Tells of a route by an Operation Object; the path is whole.
    pub fn route(&mut self, method: Method, path: String, operation: Value) {
        self.routes.push(Route { method, path, operation });
    }

    /// Tells of forms that [`reference`] names.
    pub fn schemas(&mut self, schemas: impl IntoIterator<Item = (String, Value)>) {
        self.schemas.extend(schemas);
    }

    /// Tells of what `other` tells, too.
    pub fn merge(&mut self, other: Self) {
        self.routes.extend(other.routes);
        self.schemas.extend(other.schemas);
    }

    /// The Paths Object, and the schemas of the Components Object.
    pub fn into_parts(self) -> (Map<String, Value>, Map<String, Value>) {
        let mut paths = Map::new();
        for Route { method, path, operation } in self.routes {
            let path = paths.entry(path).or_insert_with(|| Map::new().into());
            path[method.as_str().to_lowercase()] = operation;
        }
        let mut schemas = self.schemas;
        schemas.insert("problem".to_owned(), problem());
        (paths, schemas)
    }
}

/// The answers of an operation that refuses with these codes, by their status.
pub fn refusals(codes: impl IntoIterator<Item = ProblemCode>) -> Map<String, Value> {
    let mut by_status: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.status().as_str().to_owned()).or_default().push(format!("`{}`: {}", code.as_str(), code.detail()));
    }
    let content = json!({ "application/problem+json": { "schema": reference("problem") } });
    let response = |sentences: Vec<String>| json!({ "description": sentences.join(" "), "content": content });
    by_status.into_iter().map(|(status, sentences)| (status, response(sentences))).collect()
}

/// A form that is told of under this name.
pub fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// An object that has all of these members.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let members: Map<_, _> = members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let names: Vec<_> = members.keys().collect();
    json!({ "type": "object", "properties": members, "required": names })
}

/// A body in JSON. Where it may be left out, every member may.
pub fn request_body(description: &str, schema: Value) -> Value {
    let is_required = schema["required"].as_array().is_some_and(|names| !names.is_empty());
    let mut body = json_content(description, schema);
    body["required"] = is_required.into();
    body
}

/// An answer in JSON.
pub fn json_content(description: &str, schema: Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// A parameter in the query.
pub fn parameter(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

/// A part of the path.
pub fn path_parameter(name: &str, description: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": { "type": "string" } })
}

/// A header that may be sent.
pub fn header(name: &str, description: &str) -> Value {
    json!({ "name": name, "in": "header", "description": description, "schema": { "type": "string" } })
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
            "attempts_left": { "description": "Guesses that a code still takes.", "type": "integer" },
        },
        "required": ["type", "title", "status", "code", "detail", "error", "errors", "request_id"],
    })
}
