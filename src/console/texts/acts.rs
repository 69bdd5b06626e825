//! Pausing and resuming the texts of a store.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::{Area, Caller, Scope};
use crate::console::Console;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::console::texts::page::Store;
use crate::console::texts::{PAUSES, STORES};
use crate::kernel::problem::ProblemCode;

#[derive(Deserialize)]
struct One {
    store: Store,
}

#[derive(Template)]
#[template(path = "texts/pause.html")]
struct PausePage {
    ui: Ui,
    store: Store,
    refusal: Option<String>,
    entered: String,
}

async fn find(console: &Console, caller: &Caller, id: &str) -> Result<(Store, Option<String>), PageError> {
    let answer = console.api.get(caller, &format!("{STORES}/{id}")).await?;
    let One { store } = serde_json::from_value(answer.body).map_err(|_| PageError::NOT_FOUND)?;
    Ok((store, answer.version))
}

pub(super) async fn ask_pause(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let (store, _) = find(&console, &caller, &id).await?;
    if !caller.grant.allows(Area::Integration, Scope::Write) {
        return Err(PageError::NOT_FOUND);
    }
    Ok(Page(PausePage { ui, store, refusal: None, entered: String::new() }).into_response())
}

pub(super) async fn pause(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let caller = &form.visitor.caller;
    let reason = form.get("reason").unwrap_or_default().to_owned();
    let mut body = json!({ "texts_paused": true });
    if !reason.is_empty() {
        body["texts_paused_reason"] = Value::from(reason.clone());
    }
    match console.api.put(caller, &format!("{STORES}/{id}"), &body, None).await {
        Ok(_) => Ok(to_texts("saved")),
        Err(problem) if problem.code().status() == StatusCode::UNPROCESSABLE_ENTITY => {
            let (store, _) = find(&console, caller, &id).await?;
            let page = PausePage { store, refusal: Some(problem.to_string()), entered: reason, ui: form.visitor.ui };
            Ok((StatusCode::UNPROCESSABLE_ENTITY, Page(page)).into_response())
        }
        Err(problem) => Err(problem.into()),
    }
}

/// Lifts the pause that the operator has seen, and no other: the guard may have paused the texts again since the page was made.
pub(super) async fn resume(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let caller = &form.visitor.caller;
    let seen = form.get("since").and_then(|since| since.parse::<DateTime<Utc>>().ok());
    let (store, version) = find(&console, caller, &id).await?;
    if store.texts_paused_at != seen {
        return Ok(to_texts("unchanged"));
    }
    console.api.put(caller, &format!("{STORES}/{id}"), &json!({ "texts_paused": false }), version.as_deref()).await?;
    Ok(to_texts("saved"))
}

/// Ends a pause of the guard. Each pause has an id of its own, so one that began meanwhile is not ended.
pub(super) async fn end_pause(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    match console.api.post(&form.visitor.caller, &format!("{PAUSES}/{id}/resume"), &json!({})).await {
        Ok(_) => Ok(to_texts("saved")),
        Err(problem) if problem.code() == ProblemCode::RecordNotFound => Ok(to_texts("unchanged")),
        Err(problem) => Err(problem.into()),
    }
}

fn to_texts(done: &str) -> Response {
    Redirect::to(&format!("/console/texts?done={done}")).into_response()
}
