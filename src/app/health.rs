//! Liveness and readiness checks for container platforms.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::kernel::database::Pool;
use crate::kernel::migrations::{self, MigrationError};
use crate::kernel::problem::{Problem, ProblemCode};

/// `GET /healthz`: the process responds.
pub(super) async fn alive() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// `GET /readyz`: the database responds and has all migrations of this binary.
pub(super) async fn ready(State(pool): State<Pool>) -> Result<Json<Value>, Problem> {
    match migrations::must_be_applied(&pool).await {
        Ok(()) => Ok(Json(json!({ "status": "ok" }))),
        Err(MigrationError::Database(error)) => Err(error.into()),
        Err(error) => {
            let detail = format!("This instance cannot use its database: {error}.");
            Err(Problem::new(ProblemCode::DatabaseUnavailable).detail(detail).retry_after(5))
        }
    }
}
