//! What every response gets, and the problem document of a failed one.

use std::any::Any;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::{Language, Problem, ProblemCode};
use crate::kernel::request_id::RequestId;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Marks a failed response that tells the reason itself, to a person: a page.
#[derive(Clone, Copy, Debug)]
pub struct TellsTheReason;

/// Writes the problem document of a failed response; if it is for a customer, in the language that is preferred among these, the values of
/// `Accept-Language`. Every response gets the request id and, unless it sets its own, `Cache-Control: no-store`, because responses contain
/// tokens, keys and customer data.
pub(super) fn finish(mut response: Response, id: RequestId, languages: Option<Vec<HeaderValue>>) -> Response {
    let id = id.to_string();
    let failed = response.status().is_client_error() || response.status().is_server_error();
    if failed && response.extensions().get::<TellsTheReason>().is_none() {
        let language = languages.map(|lines| Language::preferred(&AcceptedLanguages::of_lines(&lines)));
        let problem = response.extensions_mut().remove::<Problem>();
        let problem = problem.unwrap_or_else(|| Problem::new(ProblemCode::of_status(response.status())));
        // The other headers of the response stay (Retry-After, Allow, RateLimit-…); the status code and the body come from the problem.
        let (mut parts, _) = response.into_parts();
        parts.status = problem.code().status();
        if let Some(wait) = problem.clone().into_response().headers().get(header::RETRY_AFTER) {
            parts.headers.insert(header::RETRY_AFTER, wait.clone());
        }
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(language) = language {
            parts.headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()));
            parts.headers.append(header::VARY, HeaderValue::from(header::ACCEPT_LANGUAGE));
        }
        response = Response::from_parts(parts, Body::from(problem.body_in(language.unwrap_or_default(), &id).to_string()));
    }
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response.headers_mut().insert(REQUEST_ID, HeaderValue::from_str(&id).expect("hex digits are a valid header value"));
    response
}

pub(super) fn of_panic(panic: Box<dyn Any + Send>) -> Response {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(message = message.unwrap_or("no message"), "a handler panicked");
    Problem::new(ProblemCode::Internal).into_response()
}
