//! What is told about one route.

use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use crate::kernel::openapi::{header, json_content, path_parameter, refusals, request_body};
use crate::kernel::problem::ProblemCode;
use crate::storefront::routes::Body;

/// What is told about a route: a sentence, what it answers, and what it refuses.
#[derive(Clone, Debug)]
#[must_use = "it is told where the route is mounted"]
pub struct Told {
    sentence: &'static str,
    status: StatusCode,
    answer: Value,
    refused: Vec<ProblemCode>,
    takes_token: bool,
    parameters: Vec<Value>,
    body: Option<Value>,
}

/// A route that does what the sentence says, and answers in this form. Every route refuses a bad store key, and too many requests.
pub fn told(sentence: &'static str, answer: Value) -> Told {
    let refused = vec![ProblemCode::StoreKeyInvalid, ProblemCode::RateLimited];
    Told { sentence, status: StatusCode::OK, answer, refused, takes_token: false, parameters: Vec::new(), body: None }
}

impl Told {
    /// It is answered with another status than 200.
    pub(in crate::storefront) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// It may be refused with these codes, beside those that follow from what it takes.
    pub fn refused(mut self, codes: &[ProblemCode]) -> Self {
        for code in codes {
            if !self.refused.contains(code) {
                self.refused.push(*code);
            }
        }
        self
    }

    /// What `{name}` in its path is.
    pub(in crate::storefront) fn at(mut self, name: &str, sentence: &str) -> Self {
        self.parameters.push(path_parameter(name, sentence));
        self
    }

    /// It reads the members of `B` out of the body by itself.
    pub(in crate::storefront) fn reading<B: Body>(self) -> Self {
        Self { body: Some(B::schema()), ..self }
    }

    /// The same with a member of its body under another name.
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

    /// It takes the token of a signed-in customer.
    pub(super) fn taking_token(mut self) -> Self {
        self.takes_token = true;
        self.refused(&[ProblemCode::CustomerTokenInvalid])
    }

    /// It looks at a header.
    pub(super) fn taking_header(mut self, name: &str, sentence: &str) -> Self {
        self.parameters.push(header(name, sentence));
        self
    }

    /// It takes a body in JSON.
    pub(super) fn taking_body<B: Body>(mut self) -> Self {
        self.body.get_or_insert_with(B::schema);
        self.refused(&[ProblemCode::JsonInvalid, ProblemCode::BodyTooLarge, ProblemCode::MediaTypeUnsupported, ProblemCode::BodyInvalid])
    }

    /// All of it, as an OpenAPI Operation Object.
    pub(super) fn operation(self, method: &Method, path: &str) -> Value {
        let mut responses = Map::from_iter([(self.status.as_str().to_owned(), json_content("Done.", self.answer))]);
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
            operation["requestBody"] = request_body("What is asked for.", body);
        }
        operation
    }
}
