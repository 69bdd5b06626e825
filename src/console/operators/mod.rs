//! One operator: what they may do, where they are signed in, and what can be done about their access.

use askama::Template;
use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use crate::console::Console;
use crate::console::addresses::{list_address, record_form_address};
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};
use crate::kernel::ids::OperatorSessionId;
use crate::kernel::routing::{get, post};

/// The path of operators in the API.
const API: &str = "/developers/int/v1/operators";

#[derive(Deserialize)]
struct One {
    operator: Operator,
}

#[derive(Deserialize)]
struct Operator {
    id: String,
    email: String,
    name: Option<String>,
    role: String,
    language: String,
    created_at: DateTime<Utc>,
    accepted_at: Option<DateTime<Utc>>,
    disabled_at: Option<DateTime<Utc>>,
    totp_enabled_at: Option<DateTime<Utc>>,
    last_signed_in_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Sessions {
    sessions: Vec<Session>,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    address: String,
    user_agent: String,
    method: String,
    created_at: DateTime<Utc>,
    last_used_at: DateTime<Utc>,
}

#[derive(Template)]
#[template(path = "operators/operator.html")]
struct OperatorPage {
    ui: Ui,
    list: String,
    form: String,
    changes: String,
    title: String,
    /// Whether the visitor may change it.
    changeable: bool,
    /// Whether it is the visitor.
    own: bool,
    operator: Operator,
    invited: Moment,
    accepted: Option<Moment>,
    disabled: Option<Moment>,
    totp: Option<Moment>,
    signed_in: Option<Moment>,
    sessions: Vec<Row>,
}

struct Row {
    session: Session,
    began: Moment,
    used: Moment,
}

/// An act that asks first.
#[derive(Clone, Copy)]
struct Act {
    /// The path of the act in the API, and of its page.
    name: &'static str,
    question: &'static str,
    consequence: &'static str,
    button: &'static str,
    done: &'static str,
}

const RESET_TOTP: Act = Act {
    name: "reset-totp",
    question: "Remove the second factor of {}?",
    consequence: "Their sessions end. They sign in with their password alone, and set up another app if their role must have one. Be sure \
                  that it is they who ask for it.",
    button: "Remove the second factor",
    done: "saved",
};

const SEND_LINK: Act = Act {
    name: "send-link",
    question: "Mail {} a link to choose a password?",
    consequence: "It is the invitation again, or a reset. The links of earlier mails stop working, and the password stays as it is until \
                  they choose another.",
    button: "Send the link",
    done: "mailed",
};

#[derive(Template)]
#[template(path = "operators/ask.html")]
struct AskPage {
    ui: Ui,
    act: Act,
    list: String,
    address: String,
    title: String,
}

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/operators/{id}", get(show))
        .route("/console/operators/{id}/{act}", get(ask).merge(post(act)))
        .route("/console/operators/{id}/sessions/end", post(end_all))
        .route("/console/operators/{id}/sessions/{session}/end", post(end_one))
}

fn address(id: &str) -> String {
    format!("/console/operators/{id}")
}

async fn show(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    let own = visitor.session()?.operator.id.to_string();
    let Visitor { caller, ui, .. } = visitor;
    let kind = console.kinds.find(&caller, "developers", "operators").ok_or(PageError::NOT_FOUND)?;
    let One { operator } = console.api.read(&caller, &format!("{API}/{id}")).await?;
    let Sessions { sessions } = console.api.read(&caller, &format!("{API}/{id}/sessions")).await?;
    let at = |instant: &Option<DateTime<Utc>>| instant.as_ref().map(|instant| ui.at(instant));
    let row = |session: Session| Row { began: ui.at(&session.created_at), used: ui.at(&session.last_used_at), session };
    let page = OperatorPage {
        list: list_address(kind),
        form: record_form_address(kind, &operator.id),
        changes: format!("/console/records/developers/changes?record={}", operator.id),
        title: operator.name.clone().unwrap_or_else(|| operator.email.clone()),
        changeable: caller.grant.allows_all(kind.writing),
        own: own == operator.id,
        invited: ui.at(&operator.created_at),
        accepted: at(&operator.accepted_at),
        disabled: at(&operator.disabled_at),
        totp: at(&operator.totp_enabled_at),
        signed_in: at(&operator.last_signed_in_at),
        sessions: sessions.into_iter().map(row).collect(),
        operator,
        ui,
    };
    Ok(Page(page).into_response())
}

fn named(name: &str) -> Result<Act, PageError> {
    [RESET_TOTP, SEND_LINK].into_iter().find(|act| act.name == name).ok_or(PageError::NOT_FOUND)
}

async fn ask(
    State(console): State<Console>,
    visitor: Visitor,
    RecordId(id): RecordId,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let (act, kind) = (named(&name)?, console.kinds.find(&caller, "developers", "operators").ok_or(PageError::NOT_FOUND)?);
    caller.require_proof()?;
    let One { operator } = console.api.read(&caller, &format!("{API}/{id}")).await?;
    let page = AskPage { act, list: list_address(kind), address: address(&operator.id), title: operator.email, ui };
    Ok(Page(page).into_response())
}

async fn act(
    State(console): State<Console>,
    RecordId(id): RecordId,
    Path((_, name)): Path<(String, String)>,
    form: PostedForm,
) -> Result<Response, PageError> {
    let act = named(&name)?;
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/{}", act.name), &json!({})).await?;
    Ok(Redirect::to(&format!("{}?done={}", address(&id), act.done)).into_response())
}

async fn end_all(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/end-sessions"), &json!({})).await?;
    Ok(Redirect::to(&format!("{}?done=ended", address(&id))).into_response())
}

async fn end_one(
    State(console): State<Console>,
    RecordId(id): RecordId,
    Path((_, session)): Path<(String, String)>,
    form: PostedForm,
) -> Result<Response, PageError> {
    let session: OperatorSessionId = session.parse().map_err(|_| PageError::NOT_FOUND)?;
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/end-sessions"), &json!({ "session": session })).await?;
    Ok(Redirect::to(&format!("{}?done=ended", address(&id))).into_response())
}
