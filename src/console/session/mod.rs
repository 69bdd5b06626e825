//! Who is signed in, and which forms are theirs.
//!
//! The session is a random token in a cookie that scripts cannot read and other sites do not send; the database has its digest. A form
//! carries a token that is derived from it.

mod account;
mod cookies;
mod forms;
mod preferences;
mod record_id;
mod sign_in;
mod visitor;

use axum::Router;
use axum::routing::{get, post};

use crate::console::Console;

pub use forms::PostedForm;
pub use record_id::RecordId;
pub use visitor::Visitor;

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/sign-in", get(sign_in::show).post(sign_in::submit))
        .route("/console/sign-in/once", get(sign_in::show_link).post(sign_in::submit_link))
        .route("/console/preferences", post(preferences::change))
        .route("/console/account", get(account::show))
        .route("/console/account/sessions/end-others", post(account::end_others))
        .route("/console/account/sessions/{id}/end", post(account::end))
        .route("/console/sign-out", post(sign_in::sign_out))
}
