//! The documentation of problem codes, served at the URLs that a problem's `type` contains.

use axum::Json;
use axum::extract::Path;
use serde_json::{Value, json};

use crate::kernel::problem::{Problem, ProblemCode};

/// `GET /problems`
pub(super) async fn list() -> Json<Value> {
    Json(json!({ "problems": ProblemCode::ALL.iter().map(|code| document(*code)).collect::<Vec<_>>() }))
}

/// `GET /problems/{code}`
pub(super) async fn show(Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    let code = ProblemCode::ALL.iter().find(|code| code.as_str() == name).ok_or(ProblemCode::RouteUnknown)?;
    Ok(Json(document(*code)))
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
