//! Payments and the callbacks that told of them: what came, what was believed, what followed.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! payment  callback  trial     the pages: one payment, one callback, and a sample that is tried without being recorded
//! ```

mod callback;
mod payment;
mod trial;

use axum::Router;

use crate::console::Console;
use crate::kernel::routing::{get, post};

/// The path of callbacks in the API.
const CALLBACKS: &str = "/ledger/int/v1/callbacks";
/// The path of gateways in the API.
const GATEWAYS: &str = "/ledger/int/v1/gateways";

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/payments/{id}", get(payment::show))
        .route("/console/callbacks/{id}", get(callback::show))
        .route("/console/callbacks/{id}/process", post(callback::process))
        .route("/console/gateways/{id}/try", get(trial::ask).merge(post(trial::answer)))
}
