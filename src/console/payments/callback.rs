//! One callback: the recorded request, what was believed of it, and what became of it.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::console::Console;
use crate::console::cell::{Cell, pretty};
use crate::console::payments::CALLBACKS;
use crate::console::records::named;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};
use crate::gateways::{CallbackRecord, Gateway, MAX_KEPT_BODY_LEN};
use crate::resources::Resource;

#[derive(Deserialize)]
struct One {
    callback: Callback,
}

#[derive(Deserialize)]
struct Callback {
    id: String,
    gateway: Option<String>,
    event_id: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    status: String,
    reason: Option<String>,
    detail: Option<String>,
    body_size: usize,
    body_erased_at: Option<DateTime<Utc>>,
    attempts: i64,
    next_attempt_at: Option<DateTime<Utc>>,
    body: String,
    payments: Vec<String>,
    created_at: DateTime<Utc>,
}

#[derive(Template)]
#[template(path = "payments/callback.html")]
struct CallbackPage {
    ui: Ui,
    state: Cell,
    answer: String,
    gateway: Cell,
    /// Where a sample for this gateway is tried.
    trial: Option<String>,
    payments: Vec<Cell>,
    came: Moment,
    next: Option<Moment>,
    /// When the body was erased.
    erased: Option<Moment>,
    body: String,
    /// Whether only the beginning was kept.
    cut: bool,
    /// Whether it can be processed again, and the visitor may.
    processable: bool,
    callback: Callback,
}

/// `GET /console/callbacks/{id}`
pub(super) async fn show(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let One { callback } = console.api.read(&caller, &format!("{CALLBACKS}/{id}")).await?;
    let gateway = match &callback.gateway {
        Some(id) => named(&console, &caller, id).await,
        None => Cell::Empty,
    };
    let mut payments = Vec::new();
    for id in &callback.payments {
        payments.push(named(&console, &caller, id).await);
    }
    let answer = match (callback.status.as_str(), &callback.reason) {
        ("processed", None) => ui.t("The signature was right, and all it told was recorded."),
        ("processed", Some(_)) => ui.t("The signature was right, and what it told was recorded, but for this:"),
        ("ignored", _) => ui.t("The signature was right. It told nothing that is of use here."),
        ("failed", _) => ui.t("The signature was right, but it could not be processed yet."),
        _ => ui.t("It was refused: nothing it told was believed."),
    }
    .to_owned();
    let page = CallbackPage {
        state: Cell::word(&ui, &callback.status),
        answer,
        gateway,
        trial: callback
            .gateway
            .as_ref()
            .filter(|_| caller.grant.allows_all(Gateway::writing()))
            .map(|id| format!("/console/gateways/{id}/try")),
        payments,
        came: ui.at(&callback.created_at),
        next: callback.next_attempt_at.as_ref().map(|at| ui.at(at)),
        erased: callback.body_erased_at.as_ref().map(|at| ui.at(at)),
        body: serde_json::from_str::<Value>(&callback.body).map_or_else(|_| callback.body.clone(), |body| pretty(&body)),
        // What is shown may be shorter than what came, because secrets are left out.
        cut: callback.status == "refused" && callback.body_size > MAX_KEPT_BODY_LEN,
        processable: matches!(callback.status.as_str(), "failed" | "ignored")
            && callback.body_erased_at.is_none()
            && caller.grant.allows_all(CallbackRecord::writing()),
        callback,
        ui,
    };
    Ok(Page(page).into_response())
}

/// Processes a genuine callback again, with the settings as they are now.
pub(super) async fn process(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    console.api.post(&form.visitor.caller, &format!("{CALLBACKS}/{id}/process"), &json!({})).await?;
    Ok(Redirect::to(&format!("/console/callbacks/{id}?done=saved")).into_response())
}
