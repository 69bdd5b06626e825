//! What is done to webhooks and deliveries with a button.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::NaiveDateTime;
use serde_json::{Value, json};

use crate::console::Console;
use crate::console::api::Answer;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::console::webhooks::{API, DELIVERIES};
use crate::kernel::crypto::random_hex;
use crate::resources::Resource;
use crate::webhooks::Subscription;

#[derive(Template)]
#[template(path = "webhooks/secret.html")]
struct SecretPage {
    ui: Ui,
    id: String,
    url: String,
    secret: String,
    rotated: bool,
}

#[derive(Template)]
#[template(path = "webhooks/rotate.html")]
struct RotatePage {
    ui: Ui,
    id: String,
    url: String,
    version: String,
    /// Whether two secrets sign already.
    overlapping: bool,
    /// Whether the webhook has changed since the form was made.
    outdated: bool,
}

impl RotatePage {
    fn of(ui: Ui, webhook: &Value, version: Option<String>, outdated: bool) -> Self {
        let text = |member: &str| webhook[member].as_str().unwrap_or_default().to_owned();
        let overlapping = !webhook["previous_secret_until"].is_null();
        Self { ui, id: text("id"), url: text("url"), version: version.unwrap_or_default(), overlapping, outdated }
    }
}

#[derive(Template)]
#[template(path = "webhooks/replay.html")]
struct ReplayPage {
    ui: Ui,
    id: String,
    since: String,
    /// The end, and the event; empty if there is none.
    until: String,
    event: String,
    count: u64,
    /// Makes the replay happen once, however often the form is sent.
    key: String,
}

pub(super) async fn enable(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/enable"), &json!({})).await?;
    Ok(to_webhook(&form.visitor.ui, &id, "saved"))
}

pub(super) async fn pause(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/pause"), &json!({})).await?;
    Ok(to_webhook(&form.visitor.ui, &id, "paused"))
}

pub(super) async fn resume(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/resume"), &json!({})).await?;
    Ok(to_webhook(&form.visitor.ui, &id, "resumed"))
}

pub(super) async fn disable(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/disable"), &json!({})).await?;
    Ok(to_webhook(&form.visitor.ui, &id, "saved"))
}

/// A form, although it changes nothing: no page with a secret has an address that could be opened by accident.
pub(super) async fn show_secret(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let answer = console.api.get(&form.visitor.caller, &format!("{API}/{id}/secret")).await?;
    Ok(secret_page(form.visitor.ui, &answer.body["webhook"], false))
}

pub(super) async fn ask_rotate(State(console): State<Console>, RecordId(id): RecordId, visitor: Visitor) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    Subscription::require(&caller, Subscription::writing())?;
    caller.require_proof()?;
    let Answer { body, version } = console.api.get(&caller, &format!("{API}/{id}")).await?;
    Ok(Page(RotatePage::of(ui, &body["webhook"], version, false)).into_response())
}

/// A form rotates the secret once, however often it is sent: it names the version of the webhook that its page has shown.
pub(super) async fn rotate_secret(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let caller = &form.visitor.caller;
    Subscription::require(caller, Subscription::writing())?;
    caller.require_proof()?;
    let Answer { body, version } = console.api.get(caller, &format!("{API}/{id}")).await?;
    if version.as_deref() != form.get("version") {
        let page = RotatePage::of(form.visitor.ui, &body["webhook"], version, true);
        return Ok((StatusCode::CONFLICT, Page(page)).into_response());
    }
    let overlap: u32 = form.get("overlap").and_then(|seconds| seconds.parse().ok()).ok_or(PageError::UNREADABLE)?;
    let answer = console.api.post(caller, &format!("{API}/{id}/rotate-secret"), &json!({ "overlap": overlap })).await?;
    Ok(secret_page(form.visitor.ui, &answer.body["webhook"], true))
}

/// First counts what would be sent again; with the number confirmed, sends it.
pub(super) async fn replay(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let path = format!("{API}/{id}/replay");
    let [since, until, event] = ["since", "until", "event"].map(|field| form.get(field).unwrap_or_default().to_owned());
    let begins = minute(&since)?;
    let mut body = json!({ "since": begins, "status": "failed" });
    if !until.is_empty() {
        body["until"] = minute(&until)?.into();
    }
    if !event.is_empty() {
        body["events"] = json!([event]);
    }
    if let Some(key) = form.get("key") {
        body["idempotency_key"] = key.into();
        console.api.post(&form.visitor.caller, &path, &body).await?;
        return Ok(to_webhook(&form.visitor.ui, &id, "replaying"));
    }
    body["dry_run"] = true.into();
    let answer = console.api.post(&form.visitor.caller, &path, &body).await?;
    let count = answer.body["replay"]["count"].as_u64().unwrap_or_default();
    let key = format!("console-{}", random_hex::<16>());
    Ok(Page(ReplayPage { id, since, until, event, count, key, ui: form.visitor.ui }).into_response())
}

/// The instant that a field for a minute has.
fn minute(field: &str) -> Result<String, PageError> {
    let minute = NaiveDateTime::parse_from_str(field, "%Y-%m-%dT%H:%M").map_err(|_| PageError::UNREADABLE)?;
    Ok(minute.and_utc().to_rfc3339())
}

pub(super) async fn replay_delivery(
    State(console): State<Console>,
    RecordId(id): RecordId,
    form: PostedForm,
) -> Result<Response, PageError> {
    let answer = console.api.post(&form.visitor.caller, &format!("{DELIVERIES}/{id}/replay"), &json!({})).await?;
    Ok(to_delivery(&form.visitor.ui, &answer.body["delivery"], "sent"))
}

pub(super) async fn cancel(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let answer = console.api.post(&form.visitor.caller, &format!("{DELIVERIES}/{id}/cancel"), &json!({})).await?;
    Ok(to_delivery(&form.visitor.ui, &answer.body["delivery"], "saved"))
}

fn to_webhook(ui: &Ui, id: &str, done: &str) -> Response {
    Redirect::to(&format!("{}/webhooks/{id}?done={done}", ui.home)).into_response()
}

pub(super) fn to_delivery(ui: &Ui, delivery: &Value, done: &str) -> Response {
    Redirect::to(&format!("{}/deliveries/{}?done={done}", ui.home, delivery["id"].as_str().unwrap_or_default())).into_response()
}

fn secret_page(ui: Ui, webhook: &Value, rotated: bool) -> Response {
    let text = |member: &str| webhook[member].as_str().unwrap_or_default().to_owned();
    Page(SecretPage { ui, id: text("id"), url: text("url"), secret: text("secret"), rotated }).into_response()
}
