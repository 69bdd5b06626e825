//! One webhook: how it is doing, its deliveries, and what can be done.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::cell::Cell;
use crate::console::charts::{Chart, Choice, Period, number};
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::console::webhooks::log::{Log, Row, Shown, TABS, Tab};
use crate::console::webhooks::webhook::{Standing, Webhook};
use crate::console::webhooks::{API, expiring_soon};
use crate::resources::Resource;
use crate::webhooks::{Delivery, Subscription};

const PERIODS: [Period; 3] = [Period::Day, Period::Week, Period::Month];

#[derive(Deserialize)]
struct One {
    webhook: Webhook,
}

#[derive(Deserialize)]
struct OneStanding {
    figures: Standing,
}

#[derive(Deserialize)]
struct EventTypes {
    event_types: Vec<EventType>,
}

#[derive(Deserialize)]
struct EventType {
    name: String,
}

#[derive(Template)]
#[template(path = "webhooks/endpoint.html")]
struct EndpointPage {
    ui: Ui,
    webhook: Webhook,
    standing: Standing,
    state: Cell,
    /// How it is doing, in a sentence, and the tone of the sentence.
    answer: String,
    tone: &'static str,
    /// What somebody has to know of its certificate.
    certificate: Option<String>,
    attempts: String,
    circuit: String,
    charts: Vec<Chart>,
    periods: Vec<Choice>,
    writable: bool,
    secrets: bool,
    operating: bool,
    event_types: Vec<String>,
    tabs: Vec<Tab>,
    rows: Vec<Row>,
    older: Option<String>,
    filtered: bool,
    address: String,
    /// When a replay of what failed begins, unless the operator chooses otherwise: a day ago.
    since: String,
}

/// `GET …/webhooks/{id}`
pub(super) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    RecordId(id): RecordId,
    Query(shown): Query<Shown>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let period = Period::read(&shown.period);
    let One { webhook } = console.api.read(&caller, &format!("{API}/{id}")).await?;
    let figures = with_query(&format!("{API}/{id}/figures"), [("period", period.name())]);
    let OneStanding { figures: standing } = console.api.read(&caller, &figures).await?;
    let EventTypes { event_types } = console.api.read(&caller, "/developers/int/v1/event-types").await?;
    let (status, log) = Log::find(&console, &caller, &webhook.id, standing.is_failing(), &shown).await?;
    let address = format!("{}/webhooks/{}", ui.home, webhook.id);
    let may = |permissions| caller.grant.allows_all(permissions);
    let (word, tone) = webhook.state(&standing);
    let view = |period: Period, status: &str, after: &str| {
        let period = if period == Period::default() { "" } else { period.name() };
        with_query(&address, [("period", period), ("status", status), ("event", &shown.event), ("after", after)])
    };
    let charts = if standing.figures.is_empty() {
        Vec::new()
    } else {
        vec![standing.figures.attempts_chart(&ui), standing.figures.latency_chart(&ui), standing.figures.histogram(&ui)]
    };
    let page = EndpointPage {
        state: Cell::Word { word: ui.word(word), tone },
        answer: webhook.answer(&ui, &standing),
        tone,
        certificate: standing.certificate_expires_at.and_then(|at| expiring_soon(&ui, &webhook.url, at)),
        circuit: ui.word(&standing.circuit),
        attempts: number(standing.figures.attempts),
        charts,
        periods: period.choices(&PERIODS, |period| view(period, &shown.status, "")),
        writable: may(Subscription::writing()),
        secrets: may(Subscription::administering()),
        operating: may(Delivery::writing()),
        event_types: event_types.into_iter().map(|event_type| event_type.name).collect(),
        tabs: TABS.iter().map(|(name, label)| Tab { label, address: view(period, name, ""), current: *name == status }).collect(),
        older: log.next().map(|next| view(period, status, next)),
        rows: log.deliveries.into_iter().map(|delivery| Row::of(&ui, delivery)).collect(),
        filtered: status != "all" || !shown.event.is_empty(),
        since: (ui.now() - chrono::TimeDelta::days(1)).format("%Y-%m-%dT%H:%M").to_string(),
        address: address.clone(),
        webhook,
        standing,
        ui,
    };
    Ok(Page(page).into_response())
}
