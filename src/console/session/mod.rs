//! Who is signed in or has opened a link of the portal, and which forms are theirs.
//!
//! The session is a random token in a cookie that scripts cannot read and other sites do not send; the database has its digest. A form
//! carries a token of its session. What decides who gets in needs a proof that is not old; `confirming` asks for one.

mod account;
mod company;
mod confirming;
mod cookies;
mod entering;
mod forms;
mod password;
mod portal;
mod preferences;
mod provider;
mod record_id;
mod second_step;
mod sign_in;
mod totp;
mod visitor;

use axum::Router;

use crate::console::Console;
use crate::console::addresses::{CONFIRM, PORTAL};
use crate::kernel::routing::{get, post};
use crate::operators::RETURN_PAGE;

pub use cookies::Cookie;
pub use forms::PostedForm;
pub use portal::OpenElsewhere;
pub use record_id::RecordId;
pub use visitor::Visitor;

/// Opening a link of the portal, and leaving it.
pub(super) fn portal_routes() -> Router<Console> {
    Router::new()
        .route(PORTAL, get(portal::enter))
        .route("/portal/open", get(portal::show).merge(post(portal::open)))
        .route("/portal/leave", post(portal::leave))
}

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/sign-in", get(sign_in::show).merge(post(sign_in::submit)))
        .route("/console/sign-in/once", get(sign_in::show_link).merge(post(sign_in::submit_link)))
        .route("/console/sign-in/company", get(company::show).merge(post(company::submit)))
        .route("/console/sign-in/code", get(second_step::show).merge(post(second_step::submit)))
        .route("/console/sign-in/provider", get(provider::begin))
        .route(RETURN_PAGE, get(provider::finish))
        .route("/console/forgot", get(password::ask).merge(post(password::send)))
        .route("/console/password", get(password::show).merge(post(password::choose)))
        .route(CONFIRM, get(confirming::show).merge(post(confirming::submit)))
        .route("/console/preferences", post(preferences::change))
        .route("/console/account", get(account::show))
        .route("/console/account/sessions/end-others", post(account::end_others))
        .route("/console/account/sessions/{id}/end", post(account::end))
        .route(totp::PAGE, get(totp::show).merge(post(totp::enable)))
        .route("/console/account/totp/disable", post(totp::disable))
        .route("/console/account/recovery-codes", post(totp::renew))
        .route("/console/sign-out", post(sign_in::sign_out))
}
