//! The operator's own page: where they are signed in, and how to end that.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};

use crate::console::Console;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};
use crate::operators::OperatorSession;

#[derive(Template)]
#[template(path = "session/account.html")]
struct AccountPage {
    ui: Ui,
    email: String,
    role: &'static str,
    /// Since when the operator has a second factor.
    totp: Option<Moment>,
    recovery_codes: i64,
    sessions: Vec<Row>,
}

struct Row {
    id: String,
    address: String,
    user_agent: String,
    began: Moment,
    used: Moment,
    /// Whether it is the one that shows the page.
    current: bool,
}

/// `GET /console/account`
pub(super) async fn show(State(console): State<Console>, visitor: Visitor) -> Result<Response, PageError> {
    let (session, ui) = (visitor.session()?, &visitor.ui);
    let row = |found: OperatorSession| Row {
        id: found.id.to_string(),
        current: found.id == session.id,
        address: found.address,
        user_agent: found.user_agent,
        began: ui.at(&found.created_at),
        used: ui.at(&found.last_used_at),
    };
    let sessions = console.operators.list_sessions(session.operator.id).await?.into_iter().map(row).collect();
    let totp = session.operator.totp_enabled_at.as_ref().map(|since| ui.at(since));
    let recovery_codes = console.operators.count_recovery_codes(session.operator.id).await?;
    let (email, role) = (session.operator.email.clone(), session.operator.role.as_str());
    Ok(Page(AccountPage { ui: visitor.ui, email, role, totp, recovery_codes, sessions }).into_response())
}

/// `POST /console/account/sessions/{id}/end`
pub(super) async fn end(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let id = id.parse().map_err(|_| PageError::NOT_FOUND)?;
    console.operators.end_session(&form.visitor.caller, id).await?;
    Ok(Redirect::to("/console/account?done=ended").into_response())
}

/// `POST /console/account/sessions/end-others`
pub(super) async fn end_others(State(console): State<Console>, form: PostedForm) -> Result<Response, PageError> {
    let session = form.visitor.session()?;
    for other in console.operators.list_sessions(session.operator.id).await?.into_iter().filter(|other| other.id != session.id) {
        console.operators.end_session(&form.visitor.caller, other.id).await?;
    }
    Ok(Redirect::to("/console/account?done=ended").into_response())
}
