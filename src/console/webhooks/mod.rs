//! Webhooks and their deliveries: what was sent, what came back, and what to do about it.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! endpoint  delivery       the pages: one webhook with its deliveries, one delivery with its attempts
//! acts                     what is done with a button
//! advice    command        what a failure means and what to do; the request as a command
//! ```

mod acts;
mod advice;
mod command;
mod delivery;
mod endpoint;

use axum::Router;
use axum::routing::{get, post};

use crate::console::Console;

/// The path of webhooks in the API.
const API: &str = "/developers/int/v1/webhooks";
/// The path of deliveries in the API.
const DELIVERIES: &str = "/developers/int/v1/deliveries";

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/webhooks/{id}", get(endpoint::show))
        .route("/console/webhooks/{id}/test", post(acts::test))
        .route("/console/webhooks/{id}/enable", post(acts::enable))
        .route("/console/webhooks/{id}/disable", post(acts::disable))
        .route("/console/webhooks/{id}/secret", post(acts::show_secret))
        .route("/console/webhooks/{id}/rotate-secret", get(acts::ask_rotate).post(acts::rotate_secret))
        .route("/console/webhooks/{id}/replay", post(acts::replay))
        .route("/console/deliveries/{id}", get(delivery::show))
        .route("/console/deliveries/{id}/replay", post(acts::replay_delivery))
        .route("/console/deliveries/{id}/cancel", post(acts::cancel))
}
