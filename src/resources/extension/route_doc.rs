//! The description of a route beside the five.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::kernel::openapi::{json_content, object, parameter, path_parameter, reference, request_body};
use crate::kernel::problem::ProblemCode;
use crate::resources::extension::operations::{problems, uuid_parameter};
use crate::resources::{Parameters, Resource};

/// The description of a route beside the five: a summary, what it takes, its responses, and the refusals.
#[derive(Clone, Debug)]
#[must_use = "a description takes effect only when it is passed to the route"]
pub struct RouteDoc {
    sentence: &'static str,
    path_parameters: Vec<Value>,
    pub(super) query: Parameters,
    body: Option<Value>,
    answers: Vec<(StatusCode, Answer)>,
    refused: Vec<ProblemCode>,
}

#[derive(Clone, Debug)]
enum Answer {
    /// A record of this type, in the namespace of the route.
    Record(&'static str),
    /// An OpenAPI Response Object.
    Other(Value),
}

impl RouteDoc {
    /// The summary of a route that takes only the id in its path.
    pub fn new(sentence: &'static str) -> Self {
        Self { sentence, path_parameters: Vec::new(), query: &[], body: None, answers: Vec::new(), refused: Vec::new() }
    }

    /// Describes the path parameter `{name}`. `{uuid}` needs no description.
    pub fn at(mut self, name: &str, sentence: &str) -> Self {
        self.path_parameters.push(path_parameter(name, sentence));
        self
    }

    /// Sets the query parameters. The route rejects others.
    pub fn taking_query(self, query: Parameters) -> Self {
        Self { query, ..self }
    }

    /// Sets the JSON Schema of the body.
    pub fn taking_body(self, schema: Value) -> Self {
        let refused = [ProblemCode::JsonInvalid, ProblemCode::BodyTooLarge, ProblemCode::MediaTypeUnsupported, ProblemCode::BodyInvalid];
        Self { body: Some(schema), ..self }.refusing(&refused)
    }

    /// Adds a response with a record.
    pub fn showing<R: Resource>(mut self, status: StatusCode) -> Self {
        self.answers.push((status, Answer::Record(R::SINGULAR)));
        self
    }

    /// Adds a response with a JSON body of this schema.
    pub fn answering(self, status: StatusCode, schema: Value) -> Self {
        self.answering_with(status, json_content("Success.", schema))
    }

    /// Adds a response, as an OpenAPI Response Object.
    pub fn answering_with(mut self, status: StatusCode, response: Value) -> Self {
        self.answers.push((status, Answer::Other(response)));
        self
    }

    /// Adds refusals beside those that every route has.
    pub fn refusing(mut self, codes: &[ProblemCode]) -> Self {
        self.refused.extend(codes);
        self
    }

    /// The description as an OpenAPI Operation Object.
    pub(super) fn operation(self, namespace: &str, path: &str) -> Value {
        let mut refused = self.refused;
        let mut parameters = self.path_parameters;
        if path.contains('{') {
            refused.push(ProblemCode::RecordNotFound);
        }
        if path.contains("{uuid}") {
            parameters.push(uuid_parameter());
        }
        parameters.extend(self.query.iter().map(|(name, sentence)| parameter(name, sentence, json!({ "type": "string" }))));
        let mut responses: Map<_, _> = problems(&refused);
        responses.extend(self.answers.into_iter().map(|(status, answer)| {
            let response = match answer {
                Answer::Record(singular) => json_content("Success.", object([(singular, reference(&format!("{namespace}.{singular}")))])),
                Answer::Other(response) => response,
            };
            (status.as_str().to_owned(), response)
        }));
        let mut operation = json!({ "tags": [namespace], "summary": self.sentence, "parameters": parameters, "responses": responses });
        if let Some(body) = self.body {
            operation["requestBody"] = request_body("The request.", body);
        }
        operation
    }
}
