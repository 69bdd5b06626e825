//! One payment: what callbacks told of it and what was published, in order.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use crate::console::Console;
use crate::console::addresses::{record_address, with_query};
use crate::console::cell::Cell;
use crate::console::history;
use crate::console::records::named;
use crate::console::sentence::Sentence;
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};
use crate::gateways::money;

#[derive(Deserialize)]
struct One {
    payment: Payment,
}

#[derive(Deserialize)]
struct Payment {
    id: String,
    uuid: String,
    gateway: String,
    gateway_transaction_id: String,
    kind: String,
    status: String,
    amount: Option<i64>,
    refunded_amount: i64,
    currency: Option<String>,
    dispute: Option<String>,
    order: Option<String>,
    customer: Option<String>,
    history: Vec<Fact>,
}

#[derive(Deserialize)]
struct Fact {
    fact: String,
    reference: Option<String>,
    amount: Option<i64>,
    total: Option<i64>,
    currency: Option<String>,
    message: Option<String>,
    callback: String,
    at: DateTime<Utc>,
}

/// Something that was told or published.
struct Step {
    at: DateTime<Utc>,
    when: Moment,
    state: Cell,
    sentence: Sentence,
}

#[derive(Template)]
#[template(path = "payments/payment.html")]
struct PaymentPage {
    ui: Ui,
    payment: Payment,
    state: Cell,
    amount: String,
    refunded: Option<String>,
    gateway: Cell,
    order: Cell,
    customer: Cell,
    steps: Vec<Step>,
}

/// `GET /console/payments/{id}`
pub(super) async fn show(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let One { payment } = console.api.read(&caller, &format!("/ledger/int/v1/payments/{id}")).await?;
    let money = |amount: i64, currency: Option<&str>| money::shown(amount, currency.unwrap_or_default());
    let about = async |id: Option<&str>| match id {
        Some(id) => named(&console, &caller, id).await,
        None => Cell::Empty,
    };
    // Where something was released, the total of the refunds may count it.
    let counts_releases = payment.history.iter().any(|fact| fact.fact == "authorisation_released");
    // A success that names no capture tells what all of them came to.
    let is_sum = |fact: &Fact| fact.fact == "payment_succeeded" && fact.reference.is_none();
    let has_sums = payment.history.iter().filter(|fact| is_sum(fact)).filter_map(|fact| fact.amount).collect::<BTreeSet<_>>().len() > 1;
    let is_unpaid = matches!(payment.status.as_str(), "pending" | "failed");
    let told = |fact: &Fact| {
        let callback = match console.kinds.find(&caller, "ledger", "callbacks") {
            Some(kind) => Cell::Link { address: record_address(kind, &fact.callback), text: ui.t("callback").to_owned() },
            None => Cell::Text(ui.t("callback").to_owned()),
        };
        let shown = |sum: i64| money(sum, fact.currency.as_deref().or(payment.currency.as_deref()));
        let amount = match (fact.amount, fact.total) {
            (Some(amount), _) if has_sums && is_sum(fact) => Some(ui.say("{} in all", [shown(amount)])),
            (Some(amount), _) => Some(shown(amount)),
            (None, Some(total)) if counts_releases => Some(ui.say("{} including what was released", [shown(total)])),
            (None, total) => total.map(shown),
        };
        let is_refund = matches!(fact.fact.as_str(), "refund_processed" | "refunded_in_all");
        let uncounted = (is_unpaid && is_refund).then(|| ui.t("not counted: nothing is paid").to_owned());
        // The sentence has a full stop of its own.
        let message = fact.message.as_deref().map(|message| message.trim_end().trim_end_matches('.').to_owned());
        let about = amount.into_iter().chain(uncounted).chain(message).collect::<Vec<_>>().join(", ");
        let sentence = match about.chars().last() {
            None => Sentence::of(ui.t("Told by a {}."), [callback]),
            Some('!' | '?') => Sentence::of(ui.t("Told by a {}: {}"), [callback, Cell::Text(about)]),
            Some(_) => Sentence::of(ui.t("Told by a {}: {}."), [callback, Cell::Text(about)]),
        };
        Step { at: fact.at, when: ui.at(&fact.at), state: Cell::word(&ui, &fact.fact), sentence }
    };
    let mut steps: Vec<Step> = payment.history.iter().map(told).collect();
    if let Some(kind) = console.kinds.find(&caller, "developers", "events") {
        let query = [("subject", payment.uuid.as_str()), ("limit", "100")];
        let answer = console.api.get(&caller, &with_query(&kind.list_path(), query)).await?;
        let published = |event: &Value| {
            let at: DateTime<Utc> = event["created_at"].as_str()?.parse().ok()?;
            Some(Step { at, when: ui.at(&at), state: Cell::word(&ui, "event"), sentence: history::published(&ui, kind, event) })
        };
        steps.extend(answer.body["events"].as_array().into_iter().flatten().rev().filter_map(published));
    }
    // Stable: what was told comes before what was published of it.
    steps.sort_by_key(|step| step.at);
    let currency = payment.currency.as_deref();
    let page = PaymentPage {
        state: Cell::word(&ui, &payment.status),
        amount: payment.amount.map_or_else(|| "–".to_owned(), |amount| money(amount, currency)),
        refunded: (payment.refunded_amount > 0).then(|| money(payment.refunded_amount, currency)),
        gateway: named(&console, &caller, &payment.gateway).await,
        order: about(payment.order.as_deref()).await,
        customer: about(payment.customer.as_deref()).await,
        steps,
        payment,
        ui,
    };
    Ok(Page(page).into_response())
}
