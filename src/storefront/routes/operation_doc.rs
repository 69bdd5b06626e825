//! The description of one route.

use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use crate::kernel::openapi::{header, json_content, path_parameter, refusals, request_body};
use crate::kernel::problem::ProblemCode;
use crate::storefront::routes::Body;

/// The description of one route: a summary, the response, and the refusals.
#[derive(Clone, Debug)]
#[must_use = "a description takes effect only when it is passed to the route"]
pub struct OperationDoc {
    sentence: &'static str,
    status: StatusCode,
    answer: Value,
    refused: Vec<ProblemCode>,
    takes_token: bool,
    parameters: Vec<Value>,
    body: Option<Value>,
}

/// Describes a route by its summary and the schema of its response. Every route refuses an invalid store key and too many
/// requests.
pub fn describe(sentence: &'static str, answer: Value) -> OperationDoc {
    let refused = vec![ProblemCode::StoreKeyInvalid, ProblemCode::RateLimited];
    OperationDoc { sentence, status: StatusCode::OK, answer, refused, takes_token: false, parameters: Vec::new(), body: None }
}

impl OperationDoc {
    /// Sets the status code of a success. The default is 200.
    pub(in crate::storefront) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Adds refusals to those that follow from the handler's parameters.
    pub fn refused(mut self, codes: &[ProblemCode]) -> Self {
        for code in codes {
            if !self.refused.contains(code) {
                self.refused.push(*code);
            }
        }
        self
    }

    /// Describes the path parameter `{name}`.
    pub(in crate::storefront) fn at(mut self, name: &str, sentence: &str) -> Self {
        self.parameters.push(path_parameter(name, sentence));
        self
    }

    /// Declares that the handler reads the fields of `B` from the body itself.
    pub(in crate::storefront) fn reading<B: Body>(self) -> Self {
        Self { body: Some(B::schema()), ..self }
    }

    /// Adds keywords to the schema of a field of the body, after [`OperationDoc::reading`].
    pub(in crate::storefront) fn restricting(mut self, member: &str, keywords: Value) -> Self {
        if let (Some(body), Value::Object(keywords)) = (&mut self.body, keywords) {
            for (keyword, value) in keywords {
                body["properties"][member][keyword] = value;
            }
        }
        self
    }

    /// Declares that the body needs one of these fields, after [`OperationDoc::reading`].
    pub(in crate::storefront) fn needing_one_of(mut self, members: &[&str]) -> Self {
        if let Some(body) = &mut self.body {
            let with = |member: &&str| json!({ "properties": { *member: { "type": "string" } }, "required": [member] });
            body["anyOf"] = members.iter().map(with).collect();
        }
        self
    }

    /// Renames a field of the body.
    pub(in crate::storefront) fn renaming(mut self, member: &str, name: &str) -> Self {
        if let Some(body) = &mut self.body {
            if let Some(schema) = body["properties"].as_object_mut().and_then(|members| members.remove(member)) {
                body["properties"][name] = schema;
            }
            for needed in body["required"].as_array_mut().into_iter().flatten().filter(|needed| *needed == member) {
                *needed = name.into();
            }
        }
        self
    }

    /// Declares that the route requires the token of a signed-in customer.
    pub(super) fn taking_token(mut self) -> Self {
        self.takes_token = true;
        self.refused(&[ProblemCode::CustomerTokenInvalid])
    }

    /// Declares that the route reads a request header.
    pub(super) fn taking_header(mut self, name: &str, sentence: &str) -> Self {
        self.parameters.push(header(name, sentence));
        self
    }

    /// Declares that the route reads a JSON body.
    pub(super) fn taking_body<B: Body>(mut self) -> Self {
        self.body.get_or_insert_with(B::schema);
        self.refused(&[ProblemCode::JsonInvalid, ProblemCode::BodyTooLarge, ProblemCode::MediaTypeUnsupported, ProblemCode::BodyInvalid])
    }

    /// The description as an OpenAPI Operation Object.
    pub(super) fn operation(self, method: &Method, path: &str) -> Value {
        let mut responses = Map::from_iter([(self.status.as_str().to_owned(), json_content("Success.", self.answer))]);
        responses.extend(refusals(self.refused));
        let security = if self.takes_token { json!([{ "store_key": [], "customer_token": [] }]) } else { json!([{ "store_key": [] }]) };
        let words = path.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let mut operation = json!({
            "tags": ["customers"],
            "operationId": format!("{}_{}", method.as_str().to_lowercase(), words.collect::<Vec<_>>().join("_")),
            "summary": self.sentence,
            "security": security,
            "parameters": self.parameters,
            "responses": responses,
        });
        if let Some(body) = self.body {
            operation["requestBody"] = request_body("The request.", body);
        }
        operation
    }
}
