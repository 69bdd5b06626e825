//! Webhooks and their deliveries: what was sent, what came back, and what to do about it.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! list  endpoint  delivery  the pages: all webhooks, one webhook with its deliveries, one delivery with its attempts
//! test                     a test event, with a sample that can be edited
//! ending                   asks before a webhook is disabled or deleted
//! verification             code that verifies deliveries
//! acts                     what is done with a button
//! webhook   log            how a webhook is doing; its deliveries
//! certificate              how long the certificate of an endpoint is valid, in words
//! advice    command        what a failure means and what to do; the request as a command
//! ```

mod acts;
mod advice;
mod certificate;
mod command;
mod delivery;
mod ending;
mod endpoint;
mod list;
mod log;
mod test;
mod verification;
mod webhook;

use axum::Router;

use crate::console::Console;
use crate::kernel::routing::{get, post};

pub(super) use certificate::expiring_soon;

/// The path of webhooks in the API.
const API: &str = "/developers/int/v1/webhooks";
/// Where the list of webhooks is shown.
const LIST: &str = "/records/developers/webhooks";
/// The path of deliveries in the API.
const DELIVERIES: &str = "/developers/int/v1/deliveries";

/// The pages, below the first page of the console or the portal.
pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route(LIST, get(list::show))
        .route("/webhooks/{id}", get(endpoint::show))
        .route("/webhooks/{id}/test", get(test::ask).merge(post(test::send)))
        .route("/webhooks/{id}/enable", post(acts::enable))
        .route("/webhooks/{id}/pause", post(acts::pause))
        .route("/webhooks/{id}/resume", post(acts::resume))
        .route("/webhooks/{id}/disable", get(ending::ask_disable).merge(post(acts::disable)))
        .route("/webhooks/{id}/delete", get(ending::ask_delete))
        .route("/webhooks/{id}/secret", post(acts::show_secret))
        .route("/webhooks/{id}/rotate-secret", get(acts::ask_rotate).merge(post(acts::rotate_secret)))
        .route("/webhooks/{id}/replay", post(acts::replay))
        .route("/webhooks/{id}/verification", get(verification::show))
        .route("/deliveries/{id}", get(delivery::show))
        .route("/deliveries/{id}/replay", post(acts::replay_delivery))
        .route("/deliveries/{id}/cancel", post(acts::cancel))
}
