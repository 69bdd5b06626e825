//! Errors of the API: RFC 9457 problem documents on every failed response (`docs/specification/decisions.md`, section 1).
//!
//! A handler returns a [`Problem`]. The response carries it as an extension, and [`crate::kernel::middleware::layer`], which knows the
//! request id, writes the body. A failed response without a problem (an unknown route, a body over the limit) gets the default
//! problem of its status code there, so that every failed response has the same format.
//!
//! Titles and sentences are English. `german.tsv` translates those that customers read, [`ProblemCode`]s and [`Sentence`]s alike; the
//! middleware says in which language they are written. No sentence needs a plural: values that vary are names of members, and limits are
//! never one.

mod codes;
mod language;
mod sentence;

use std::collections::BTreeMap;
use std::fmt;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

pub use codes::ProblemCode;
pub use language::Language;
pub use sentence::Sentence;

/// The reason why a request failed, in a form that customers may read.
#[derive(Clone, Debug)]
pub struct Problem(Box<Parts>);

/// Boxed, because a problem is returned through many results that are mostly successes.
#[derive(Clone, Debug)]
struct Parts {
    code: ProblemCode,
    detail: Sentence,
    fields: BTreeMap<String, Vec<Sentence>>,
    retry_after: Option<u64>,
    members: Map<String, Value>,
    is_conflict: bool,
}

impl Problem {
    /// A problem with the default detail of its code.
    pub fn new(code: ProblemCode) -> Self {
        let retry_after = matches!(code.status().as_u16(), 423 | 429 | 503).then_some(1);
        let detail = code.detail().into();
        Self(Box::new(Parts { code, detail, fields: BTreeMap::new(), retry_after, members: Map::new(), is_conflict: false }))
    }

    /// Replaces the detail.
    pub fn detail(mut self, detail: impl Into<Sentence>) -> Self {
        self.0.detail = detail.into();
        self
    }

    /// Sets `retry_after` in the body and the `Retry-After` header, in whole seconds, at least 1.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after = Some(seconds.max(1));
        self
    }

    /// Adds a further field to the body, such as `attempts_left`.
    pub fn member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.members.insert(name.to_owned(), value.into());
        self
    }

    /// Says that it is this field of the request that the detail is about.
    pub fn about(mut self, field: &str) -> Self {
        self.0.fields.entry(field.to_owned()).or_default().push(self.0.detail.clone());
        self
    }

    /// Prefixes the field names with `path`, for a body that is part of another one.
    pub fn within(mut self, path: &str) -> Self {
        let fields = std::mem::take(&mut self.0.fields);
        if fields.is_empty() {
            self.0.detail = format!("{path}: {}", self.0.detail).into();
        }
        self.0.fields = fields.into_iter().map(|(field, messages)| (format!("{path}.{field}"), messages)).collect();
        self
    }

    /// Says that the database has rolled back the transaction that failed, so that it may be run again.
    pub fn of_conflict(mut self) -> Self {
        self.0.is_conflict = true;
        self
    }

    /// Whether it may.
    pub fn is_conflict(&self) -> bool {
        self.0.is_conflict
    }

    /// The problem code.
    pub fn code(&self) -> ProblemCode {
        self.0.code
    }

    /// The errors of each field of the request, in English.
    pub fn fields(&self) -> BTreeMap<String, Vec<String>> {
        self.fields_in(Language::English)
    }

    fn fields_in(&self, language: Language) -> BTreeMap<String, Vec<String>> {
        let say = |sentences: &Vec<Sentence>| sentences.iter().map(|sentence| sentence.say(language)).collect();
        self.0.fields.iter().map(|(field, sentences)| (field.clone(), say(sentences))).collect()
    }

    /// The seconds after which it is worth while to try again, if the problem passes with time.
    pub fn delay(&self) -> Option<u64> {
        self.0.retry_after
    }

    /// The problem document, with the request id.
    pub fn body(&self, request_id: &str) -> Value {
        self.body_in(Language::English, request_id)
    }

    /// The same in a language.
    pub fn body_in(&self, language: Language, request_id: &str) -> Value {
        let parts = &*self.0;
        let (detail, fields) = (parts.detail.say(language), self.fields_in(language));
        let messages: Vec<&str> = match fields.is_empty() {
            true => vec![&detail],
            false => fields.values().flatten().map(String::as_str).collect(),
        };
        let mut body = json!({
            "type": format!("/problems/{}", parts.code.as_str()),
            "title": language.translate(parts.code.title()),
            "status": parts.code.status().as_u16(),
            "code": parts.code.as_str(),
            "detail": detail,
            "error": detail,
            "errors": messages,
            "request_id": request_id,
        });
        if !fields.is_empty() {
            body["fields"] = json!(fields);
        }
        if let Some(seconds) = parts.retry_after {
            body["retry_after"] = json!(seconds);
        }
        for (name, value) in &parts.members {
            body[name] = value.clone();
        }
        body
    }
}

/// The detail.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.detail.fmt(f)
    }
}

/// For callers that do not answer a request, such as commands.
impl std::error::Error for Problem {}

impl From<ProblemCode> for Problem {
    fn from(code: ProblemCode) -> Self {
        Self::new(code)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.0.code.status().into_response();
        if let Some(seconds) = self.0.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Validation errors of body fields, collected so that one response reports all of them.
#[derive(Debug, Default)]
pub struct FieldErrors(BTreeMap<String, Vec<Sentence>>);

impl FieldErrors {
    /// A problem with a single invalid field.
    pub fn one(field: &str, message: impl Into<Sentence>) -> Problem {
        let mut errors = Self::default();
        errors.add(field, message);
        errors.into_problem()
    }

    /// Adds an error for `field`; `message` is a sentence that customers may read.
    pub fn add(&mut self, field: &str, message: impl Into<Sentence>) {
        self.0.entry(field.to_owned()).or_default().push(message.into());
    }

    /// Returns the parsed value, or adds the error for the field.
    pub fn check<T, E: std::fmt::Display>(&mut self, field: &str, parsed: Result<T, E>) -> Option<T> {
        parsed.map_err(|error| self.add(field, error.to_string())).ok()
    }

    /// Returns the value of a required field, or adds an error if it is missing.
    pub fn require<T>(&mut self, field: &str, found: Option<T>) -> Option<T> {
        if found.is_none() {
            self.add(field, Sentence::new("{} is required.").with(field));
        }
        found
    }

    /// `Ok` if there are no errors.
    pub fn finish(self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err(self.into_problem()) }
    }

    /// The problem that lists all errors.
    pub fn into_problem(self) -> Problem {
        let first = self.0.values().flatten().next().cloned();
        let mut problem = Problem::new(ProblemCode::BodyInvalid);
        problem.0.fields = self.0;
        match first {
            Some(message) => problem.detail(message),
            None => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_repeats_its_detail_for_the_clients_that_read_error_and_errors() {
        let body = Problem::new(ProblemCode::PhoneTaken).body("r1");
        assert_eq!(body["type"], "/problems/phone_taken");
        assert_eq!((&body["error"], &body["errors"][0]), (&body["detail"], &body["detail"]));
        assert_eq!((&body["status"], &body["request_id"]), (&json!(422), &json!("r1")));
        assert!(body.get("fields").is_none() && body.get("retry_after").is_none());
    }

    #[test]
    fn waiting_is_at_least_a_second() {
        let body = Problem::new(ProblemCode::RateLimited).retry_after(0).body("r1");
        assert_eq!(body["retry_after"], 1);
    }
}
