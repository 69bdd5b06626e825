//! The OpenAPI 3.1 description of routes. A module that mounts a route also describes it.

mod operation;

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::{Map, Value, json};

use crate::kernel::problem::ProblemCode;

pub use operation::{OperationDoc, QueryParameters};

/// Routes and the schemas that they refer to, as a part of the OpenAPI document.
#[derive(Clone, Debug, Default)]
pub struct Description {
    routes: Vec<Route>,
    /// The shared schemas by name.
    schemas: Map<String, Value>,
}

#[derive(Clone, Debug)]
struct Route {
    method: Method,
    tag: String,
    path: String,
    doc: OperationDoc,
}

impl Description {
    /// Adds a route. `tag` groups operations in the document, and `path` is the full path.
    pub fn route(&mut self, method: Method, tag: &str, path: String, doc: OperationDoc) {
        self.routes.push(Route { method, tag: tag.to_owned(), path, doc });
    }

    /// Adds schemas that [`reference`] can refer to.
    pub fn schemas(&mut self, schemas: impl IntoIterator<Item = (String, Value)>) {
        self.schemas.extend(schemas);
    }

    /// Adds everything from `other`. An operation or schema that both have is that of `other`.
    pub fn merge(&mut self, other: Self) {
        self.routes.extend(other.routes);
        self.schemas.extend(other.schemas);
    }

    /// The Paths Object, and the schemas of the Components Object.
    pub fn into_parts(self) -> (Map<String, Value>, Map<String, Value>) {
        let mut paths = Map::new();
        for Route { method, tag, path, doc } in self.routes {
            let path = paths.entry(path).or_insert_with(|| Map::new().into());
            path[method.as_str().to_lowercase()] = doc.into_value(&tag);
        }
        let mut schemas = self.schemas;
        schemas.insert("problem".to_owned(), problem());
        (paths, schemas)
    }
}

/// The error responses of an operation with these problem codes, by status code.
pub fn refusals(codes: impl IntoIterator<Item = ProblemCode>) -> Map<String, Value> {
    let mut by_status: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.status().as_str().to_owned()).or_default().push(format!("`{}`: {}", code.as_str(), code.detail()));
    }
    let content = json!({ "application/problem+json": { "schema": reference("problem") } });
    let response = |sentences: Vec<String>| json!({ "description": sentences.join(" "), "content": content });
    by_status.into_iter().map(|(status, sentences)| (status, response(sentences))).collect()
}

/// A reference to the schema with this name.
pub fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// An object schema in which all of these fields are required.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let members: Map<_, _> = members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let names: Vec<_> = members.keys().collect();
    json!({ "type": "object", "properties": members, "required": names })
}

/// An object schema in which some of the fields are required and others than these are ignored.
pub fn open_object<'a>(required: &[&str], members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let mut schema = object(members);
    schema["required"] = json!(required);
    schema
}

/// An object schema in which some of the fields are required and others than these are refused.
pub fn closed_object<'a>(required: &[&str], members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let mut schema = open_object(required, members);
    schema["additionalProperties"] = false.into();
    schema
}

/// A JSON request body.
pub fn request_body(description: &str, is_required: bool, schema: Value) -> Value {
    let mut body = json_content(description, schema);
    body["required"] = is_required.into();
    body
}

/// The body of a form.
pub fn form_body(description: &str, schema: Value) -> Value {
    json!({ "description": description, "required": true, "content": { "application/x-www-form-urlencoded": { "schema": schema } } })
}

/// A JSON response.
pub fn json_content(description: &str, schema: Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// A query parameter.
pub fn parameter(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

/// A path parameter.
pub fn path_parameter(name: &str, description: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": { "type": "string" } })
}

/// An optional header.
pub fn header(name: &str, description: &str) -> Value {
    json!({ "name": name, "in": "header", "description": description, "schema": { "type": "string" } })
}

/// RFC 9457, with the fields of every problem.
fn problem() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "code": { "description": "The problem code. `/problems` lists all codes.", "type": "string" },
            "detail": { "description": "An explanation that can be shown to customers.", "type": "string" },
            "error": { "type": "string" },
            "errors": { "type": "array", "items": { "type": "string" } },
            "request_id": { "type": "string" },
            "fields": {
                "description": "The errors of each invalid field of the body.",
                "type": "object",
                "additionalProperties": { "type": "array", "items": { "type": "string" } },
            },
            "parameter": { "description": "The invalid parameter.", "type": "string" },
            "retry_after": { "description": "Seconds to wait before the next request.", "type": "integer" },
            "kind": { "description": "The kind of the challenge that has to be solved.", "type": "string" },
            "site_key": { "description": "The key by which the app asks for the challenge.", "type": ["string", "null"] },
            "attempts_left": { "description": "The number of guesses left for the code.", "type": "integer" },
        },
        "required": ["type", "title", "status", "code", "detail", "error", "errors", "request_id"],
    })
}
