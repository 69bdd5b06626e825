//! Liveness and readiness checks for container platforms.

mod queries;
mod readiness;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::kernel::problem::Problem;

pub use readiness::Readiness;

/// `GET /healthz`: the process responds.
pub(super) async fn alive() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// `GET /readyz`: this instance should get requests.
pub(super) async fn ready(State(readiness): State<Readiness>) -> Result<Json<Value>, Problem> {
    readiness.judge().await?;
    Ok(Json(json!({ "status": "ok" })))
}
