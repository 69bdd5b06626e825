//! A sample callback for a gateway, read by its driver without being recorded.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::payments::GATEWAYS;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::gateways::{self, money};
use crate::kernel::json;
use crate::resources::Resource;

#[derive(Deserialize)]
struct One {
    gateway: Gateway,
}

#[derive(Deserialize)]
struct Gateway {
    id: String,
    name: String,
    driver: String,
}

/// What the driver says.
#[derive(Deserialize)]
struct Tested {
    ok: bool,
    checks: Vec<Check>,
    contents: Option<Contents>,
}

#[derive(Deserialize)]
struct Check {
    subject: String,
    ok: bool,
    detail: String,
}

#[derive(Deserialize)]
struct Contents {
    gateway_transaction_id: String,
    facts: Vec<Fact>,
}

#[derive(Deserialize)]
struct Fact {
    fact: String,
    amount: Option<i64>,
    currency: Option<String>,
}

impl Fact {
    fn money(&self) -> String {
        self.amount.map_or_else(String::new, |amount| money::shown(amount, self.currency.as_deref().unwrap_or_default()))
    }
}

#[derive(Template)]
#[template(path = "payments/trial.html")]
struct TrialPage {
    ui: Ui,
    gateway: Gateway,
    entered: String,
    error: bool,
    tested: Option<Tested>,
}

async fn find(console: &Console, caller: &Caller, id: &str) -> Result<Gateway, PageError> {
    if !caller.grant.allows_all(gateways::Gateway::writing()) {
        return Err(PageError::NOT_FOUND);
    }
    caller.require_proof()?;
    Ok(console.api.read::<One>(caller, &format!("{GATEWAYS}/{id}")).await?.gateway)
}

/// `GET /console/gateways/{id}/try`
pub(super) async fn ask(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let gateway = find(&console, &caller, &id).await?;
    Ok(Page(TrialPage { ui, gateway, entered: String::new(), error: false, tested: None }).into_response())
}

/// `POST /console/gateways/{id}/try`: with an empty sample, only the configuration is checked.
pub(super) async fn answer(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let caller = &form.visitor.caller;
    let gateway = find(&console, caller, &id).await?;
    let entered = form.raw("sample").unwrap_or_default().to_owned();
    let sample = Some(entered.trim()).filter(|text| !text.is_empty());
    // The text goes on as it is: it may contain what a callback may, and a request may not.
    if sample.is_some_and(|text| json::read_evidence::<Map<String, Value>>(text.as_bytes()).is_none()) {
        let page = TrialPage { ui: form.visitor.ui, gateway, entered, error: true, tested: None };
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Page(page)).into_response());
    }
    let answer = console.api.post(caller, &format!("{GATEWAYS}/{id}/test"), &json!({ "sample": sample })).await?;
    let tested = serde_json::from_value(answer.body).ok();
    Ok(Page(TrialPage { ui: form.visitor.ui, gateway, entered, error: false, tested }).into_response())
}
