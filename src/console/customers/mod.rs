//! One customer: who it is, what happened, and what an operator can do about it.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! page                     the customer, the sessions that last, and the timeline
//! edit                     the page that changes what is known of the customer
//! acts                     what is done with a button, and the page that says what it costs
//! timeline                 the sources of the timeline, merged
//! telling                  an entry in a sentence
//! head                     the record, as the pages need it
//! ```

mod acts;
mod edit;
mod head;
mod page;
mod telling;
mod timeline;

use axum::Router;

use crate::console::Console;
use crate::kernel::routing::{get, post};

/// The path of customers in the API.
const API: &str = "/storefront/int/v1/customers";

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/customers/{id}", get(page::show))
        .route("/console/customers/{id}/edit", get(edit::show).merge(post(edit::save)))
        .route("/console/customers/{id}/end-sessions", get(acts::ask_end_all).merge(post(acts::end_all)))
        .route("/console/customers/{id}/ban", get(acts::ask_ban).merge(post(acts::ban)))
        .route("/console/customers/{id}/unban", post(acts::unban))
        .route("/console/customers/{id}/unlock", post(acts::unlock))
        .route("/console/customers/{id}/reset-password", get(acts::ask_reset).merge(post(acts::reset)))
        .route("/console/customers/{id}/remove-second-factor", get(acts::ask_remove_second_factor).merge(post(acts::remove_second_factor)))
        .route("/console/customers/{id}/remove-passkey", post(acts::remove_passkey))
        .route("/console/customers/{id}/close", get(acts::ask_close).merge(post(acts::close)))
        .route("/console/customers/{id}/erase", get(acts::ask_erase).merge(post(acts::erase)))
        .route("/console/customers/{id}/export", post(acts::export))
        .route("/console/sessions/{id}/end", post(acts::end))
}
