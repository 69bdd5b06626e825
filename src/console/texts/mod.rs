//! Texts: what the guard decides, the rules of each store, and their pauses.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! page      figures        the page; sign-ins and texts in numbers, for the overview
//! acts                     pausing and resuming
//! counted                  the numbers of a period
//! ```

mod acts;
mod counted;
mod figures;
mod page;

use axum::Router;

use crate::console::Console;
use crate::kernel::routing::{get, post};

pub use figures::Figures;

/// The path of stores in the API.
const STORES: &str = "/storefront/int/v1/stores";
/// The path of the guard's own pauses in the API.
const PAUSES: &str = "/storefront/int/v1/texts/pauses";

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/texts", get(page::show))
        .route("/console/texts/{id}/pause", get(acts::ask_pause).merge(post(acts::pause)))
        .route("/console/texts/{id}/resume", post(acts::resume))
        .route("/console/texts/pauses/{id}/resume", post(acts::end_pause))
}
