//! The description of one operation: an OpenAPI Operation Object, stated in the order in which one reads it.

use std::borrow::Cow;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::kernel::openapi::{form_body, header, json_content, object, parameter, path_parameter, reference, refusals, request_body};
use crate::kernel::problem::ProblemCode;

/// The query parameters of a route, each with its description.
pub type QueryParameters = &'static [(&'static str, &'static str)];

/// What a route takes, how it responds and what it refuses.
#[derive(Clone, Debug)]
#[must_use = "a description takes effect only when it is passed to the route"]
pub struct OperationDoc {
    summary: Cow<'static, str>,
    description: Option<String>,
    id: Option<String>,
    security: Option<Value>,
    parameters: Vec<Value>,
    query: QueryParameters,
    /// The query parameters that must be there.
    needed_query: &'static [&'static str],
    body: Option<Body>,
    answers: Vec<(StatusCode, Answer)>,
    refused: Vec<ProblemCode>,
}

#[derive(Clone, Debug)]
struct Body {
    sentence: &'static str,
    /// Whether a request without a body is refused.
    is_required: bool,
    /// Whether it is sent as forms are, and not as JSON.
    is_form: bool,
    /// A JSON Schema.
    schema: Value,
}

impl Body {
    /// The OpenAPI Request Body Object.
    fn into_value(self) -> Value {
        if self.is_form { form_body(self.sentence, self.schema) } else { request_body(self.sentence, self.is_required, self.schema) }
    }
}

#[derive(Clone, Debug)]
enum Answer {
    /// A record, under its singular name. Its schema is `<tag>.<singular>`.
    Record(&'static str),
    /// An OpenAPI Response Object.
    Other(Value),
}

impl OperationDoc {
    /// An operation with this summary, which is authenticated like most: with an API key.
    pub fn new(summary: impl Into<Cow<'static, str>>) -> Self {
        Self {
            summary: summary.into(),
            description: None,
            id: None,
            security: None,
            parameters: Vec::new(),
            query: &[],
            needed_query: &[],
            body: None,
            answers: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Adds a description to the summary.
    pub fn explained(self, description: String) -> Self {
        Self { description: Some(description), ..self }
    }

    /// Sets the id, by which generated clients name the operation.
    pub fn identified(self, id: String) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Requires these credentials, all of them, instead of an API key. The names are those of the document's security schemes.
    pub fn authenticated_by(self, schemes: &[&str]) -> Self {
        let together: Map<_, _> = schemes.iter().map(|scheme| ((*scheme).to_owned(), json!([]))).collect();
        let security = if together.is_empty() { json!([]) } else { json!([together]) };
        Self { security: Some(security), ..self }
    }

    /// Describes the path parameter `{name}`.
    pub fn at(mut self, name: &str, sentence: &str) -> Self {
        self.parameters.push(path_parameter(name, sentence));
        self
    }

    /// Sets the query parameters, which are all texts.
    pub fn taking_query(self, query: QueryParameters) -> Self {
        Self { query, ..self }
    }

    /// Requires these of the query parameters.
    pub fn needing_query(self, names: &'static [&'static str]) -> Self {
        Self { needed_query: names, ..self }
    }

    /// The query parameters of [`OperationDoc::taking_query`].
    pub fn query(&self) -> QueryParameters {
        self.query
    }

    /// Adds an OpenAPI Parameter Object.
    pub fn taking(mut self, parameter: Value) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Describes a request header.
    pub fn taking_header(self, name: &str, sentence: &str) -> Self {
        self.taking(header(name, sentence))
    }

    /// Sets the JSON Schema of the body, unless there is one: that of [`JsonBody`](crate::kernel::json::JsonBody).
    pub fn taking_body(self, schema: Value) -> Self {
        self.taking_body_explained("The request.", schema)
    }

    /// The same with a sentence about the body.
    pub fn taking_body_explained(self, sentence: &'static str, schema: Value) -> Self {
        self.described_by(Body { sentence, is_required: true, is_form: false, schema }).refusing(&[ProblemCode::JsonInvalid])
    }

    /// Sets the JSON Schema of a body that may be left out: that of [`JsonOptions`](crate::kernel::json::JsonOptions).
    pub fn taking_options(self, schema: Value) -> Self {
        self.described_by(Body { sentence: "The request.", is_required: false, is_form: false, schema })
            .refusing(&[ProblemCode::JsonInvalid])
    }

    /// Sets the schema of a body that is sent as a form is.
    pub fn taking_form(self, schema: Value) -> Self {
        self.described_by(Body { sentence: "The request.", is_required: true, is_form: true, schema })
    }

    fn described_by(mut self, body: Body) -> Self {
        self.body.get_or_insert(body);
        self.refusing(&[ProblemCode::BodyTooLarge, ProblemCode::MediaTypeUnsupported, ProblemCode::BodyInvalid])
    }

    /// Adds keywords to the schema of a field of the body.
    pub fn restricting(mut self, member: &str, keywords: Value) -> Self {
        if let (Some(body), Value::Object(keywords)) = (&mut self.body, keywords) {
            for (keyword, value) in keywords {
                body.schema["properties"][member][keyword] = value;
            }
        }
        self
    }

    /// Requires one of these fields of the body.
    pub fn needing_one_of(mut self, members: &[&str]) -> Self {
        if let Some(body) = &mut self.body {
            let with = |member: &&str| json!({ "properties": { *member: { "type": "string" } }, "required": [member] });
            body.schema["anyOf"] = members.iter().map(with).collect();
        }
        self
    }

    /// Adds a response with a record of this singular name, of the namespace that the route belongs to.
    pub fn showing(mut self, status: StatusCode, singular: &'static str) -> Self {
        self.answers.push((status, Answer::Record(singular)));
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

    /// Adds problem codes. A code that was added before is not repeated.
    pub fn refusing(mut self, codes: &[ProblemCode]) -> Self {
        let new = codes.iter().filter(|code| !self.refused.contains(code)).copied().collect::<Vec<_>>();
        self.refused.extend(new);
        self
    }

    /// The OpenAPI Operation Object. The tag groups operations in the document.
    pub(super) fn into_value(self, tag: &str) -> Value {
        let mut responses = refusals(self.refused);
        responses.extend(self.answers.into_iter().map(|(status, answer)| {
            let response = match answer {
                Answer::Record(singular) => json_content("Success.", object([(singular, reference(&format!("{tag}.{singular}")))])),
                Answer::Other(response) => response,
            };
            (status.as_str().to_owned(), response)
        }));
        let mut parameters = self.parameters;
        parameters.extend(self.query.iter().map(|(name, sentence)| {
            let mut parameter = parameter(name, sentence, json!({ "type": "string" }));
            if self.needed_query.contains(name) {
                parameter["required"] = true.into();
            }
            parameter
        }));
        let mut operation = json!({ "tags": [tag], "summary": self.summary, "parameters": parameters, "responses": responses });
        let further = [
            ("operationId", self.id.map(Value::from)),
            ("description", self.description.map(Value::from)),
            ("security", self.security),
            ("requestBody", self.body.map(Body::into_value)),
        ];
        for (member, value) in further {
            if let Some(value) = value {
                operation[member] = value;
            }
        }
        operation
    }
}
