//! The documentation of problem codes, served at the URLs that a problem's `type` contains: JSON for programs, and for people the pages of
//! [`console`](crate::console).

use axum::Json;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use crate::kernel::problem::{Problem, ProblemCode};

/// `GET /problems`
pub(super) async fn list(headers: HeaderMap) -> Response {
    let list = json!({ "problems": ProblemCode::ALL.iter().map(|code| document(*code)).collect::<Vec<_>>() });
    for_program_or_person(&headers, list, "/docs/problems")
}

/// `GET /problems/{code}`
pub(super) async fn show(headers: HeaderMap, Path(name): Path<String>) -> Result<Response, Problem> {
    let code = ProblemCode::ALL.iter().find(|code| code.as_str() == name).ok_or(ProblemCode::RouteUnknown)?;
    Ok(for_program_or_person(&headers, document(*code), &format!("/docs/problems/{}", code.as_str())))
}

/// The document, or for a browser the page that says the same and more.
fn for_program_or_person(headers: &HeaderMap, document: Value, page: &str) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    let mut response = match accepted.contains("text/html") {
        true => Redirect::to(page).into_response(),
        false => Json(document).into_response(),
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

fn document(code: ProblemCode) -> Value {
    json!({
        "type": format!("/problems/{}", code.as_str()),
        "code": code.as_str(),
        "status": code.status().as_u16(),
        "title": code.title(),
        "detail": code.detail(),
    })
}
