//! One webhook: how it is doing, its deliveries, and what can be done.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::callers::{Area, Caller, Scope};
use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::cell::Cell;
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};
use crate::console::webhooks::{API, DELIVERIES};

#[derive(Deserialize)]
struct One {
    webhook: Webhook,
}

/// What the page needs of a webhook.
#[derive(Clone, Deserialize)]
pub(super) struct Webhook {
    pub(super) id: String,
    pub(super) url: String,
    description: Option<String>,
    events: Vec<String>,
    status: String,
    disabled_reason: Option<String>,
    signature_format: String,
    timeout: u32,
    rate_limit: Option<u32>,
    ordering: String,
    previous_secret_until: Option<DateTime<Utc>>,
    health: Health,
}

#[derive(Clone, Deserialize)]
struct Health {
    attempts: i64,
    success_rate: Option<f64>,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    last_success_at: Option<DateTime<Utc>>,
    failing_since: Option<DateTime<Utc>>,
    consecutive_failures: i64,
    circuit: String,
}

#[derive(Deserialize)]
struct Many {
    deliveries: Vec<Delivery>,
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Delivery {
    id: String,
    event: String,
    status: String,
    attempt_count: u32,
    next_attempt_at: Option<DateTime<Utc>>,
    replay_of: Option<String>,
    created_at: DateTime<Utc>,
}

#[derive(Deserialize)]
struct EventTypes {
    event_types: Vec<EventType>,
}

#[derive(Deserialize)]
struct EventType {
    name: String,
}

#[derive(Default, Deserialize)]
pub(super) struct Shown {
    #[serde(default)]
    status: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    after: String,
}

/// The deliveries of one state.
struct Tab {
    label: &'static str,
    address: String,
    current: bool,
}

/// The states that the log can be narrowed to, and their names.
const TABS: [(&str, &str); 5] =
    [("all", "All"), ("failed", "Failed"), ("retrying", "Waiting for a retry"), ("pending", "Not tried yet"), ("delivered", "Delivered")];

#[derive(Template)]
#[template(path = "webhooks/endpoint.html")]
struct EndpointPage {
    ui: Ui,
    webhook: Webhook,
    state: Cell,
    /// How it is doing, in a sentence.
    answer: String,
    /// Whether all is well.
    well: bool,
    success: Option<String>,
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

struct Row {
    address: String,
    event: String,
    state: Cell,
    attempts: u32,
    next: Option<Moment>,
    replay: bool,
    created: Moment,
}

/// `GET /console/webhooks/{id}`
pub(super) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    RecordId(id): RecordId,
    Query(shown): Query<Shown>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let One { webhook } = console.api.read(&caller, &format!("{API}/{id}")).await?;
    let EventTypes { event_types } = console.api.read(&caller, "/developers/int/v1/event-types").await?;
    let (status, found) = find_deliveries(&console, &caller, &webhook, &shown).await?;
    let address = format!("/console/webhooks/{}", webhook.id);
    let may = |area, scope| caller.grant.allows(area, scope);
    let (well, answer) = webhook.answer(&ui);
    let page = EndpointPage {
        state: Cell::word(if well || webhook.status != "enabled" { &webhook.status } else { "failing" }),
        success: webhook.health.success_rate.map(|rate| format!("{:.1} %", rate * 100.0)),
        writable: may(Area::Integration, Scope::Write),
        secrets: may(Area::Integration, Scope::Admin),
        operating: may(Area::Traffic, Scope::Write),
        event_types: event_types.into_iter().map(|event_type| event_type.name).collect(),
        tabs: TABS
            .iter()
            .map(|(name, label)| Tab { label, address: format!("{address}?status={name}"), current: *name == status })
            .collect(),
        rows: found.deliveries.into_iter().map(|delivery| Row::of(&ui, delivery)).collect(),
        older: found.meta.next.map(|next| with_query(&address, [("status", status), ("event", &shown.event), ("after", &next)])),
        filtered: status != "all" || !shown.event.is_empty(),
        since: (ui.now() - chrono::TimeDelta::days(1)).format("%Y-%m-%dT%H:%M").to_string(),
        webhook,
        answer,
        well,
        address,
        ui,
    };
    Ok(Page(page).into_response())
}

/// The deliveries of the chosen state. Without a choice those that failed, because they are what one comes for; all if none did.
async fn find_deliveries<'a>(
    console: &Console,
    caller: &Caller,
    webhook: &Webhook,
    shown: &'a Shown,
) -> Result<(&'a str, Many), PageError> {
    let list = async |status: &str| {
        let status = if status == "all" { "" } else { status };
        let query = [("webhook", webhook.id.as_str()), ("status", status), ("event", &shown.event), ("after", &shown.after)];
        console.api.read::<Many>(caller, &with_query(DELIVERIES, query)).await
    };
    if !shown.status.is_empty() {
        return Ok((&shown.status, list(&shown.status).await?));
    }
    let failed = list("failed").await?;
    if failed.deliveries.is_empty() { Ok(("all", list("all").await?)) } else { Ok(("failed", failed)) }
}

impl Webhook {
    /// Whether all is well, and how it is doing.
    fn answer(&self, ui: &Ui) -> (bool, String) {
        let Health { attempts, success_rate, failing_since, consecutive_failures, circuit, .. } = &self.health;
        if self.status == "disabled" {
            let why = match self.disabled_reason.as_deref() {
                Some("gone") => ui.t("Disabled: the endpoint answered 410 Gone. Events that happen now are not delivered later."),
                Some("failing") => ui.t("Disabled: everything failed for five days. Events that happen now are not delivered later."),
                _ => ui.t("Disabled by request. Events that happen now are not delivered later."),
            };
            return (false, why.to_owned());
        }
        if let Some(since) = failing_since.filter(|_| *consecutive_failures > 0) {
            let circuit = if circuit == "closed" { "" } else { ui.t(" Most attempts are held back until one succeeds.") };
            let said = ui.say(
                "Failing: the last {} attempts failed, the first of them {}.",
                [consecutive_failures.to_string(), ui.at(&since).text()],
            );
            return (false, said + circuit);
        }
        match success_rate {
            None => (true, ui.t("Nothing was sent in the last 24 hours.").to_owned()),
            Some(rate) if *rate < 1.0 => (
                true,
                ui.say("{} of {} attempts in the last 24 hours succeeded.", [format!("{:.1} %", rate * 100.0), attempts.to_string()]),
            ),
            Some(_) => (true, ui.say("All {} attempts in the last 24 hours succeeded.", [attempts])),
        }
    }
}

impl Row {
    fn of(ui: &Ui, delivery: Delivery) -> Self {
        let Delivery { id, event, status, attempt_count, next_attempt_at, replay_of, created_at } = delivery;
        Self {
            address: format!("/console/deliveries/{id}"),
            event,
            state: Cell::word(&status),
            attempts: attempt_count,
            next: next_attempt_at.map(|at| ui.at(&at)),
            replay: replay_of.is_some(),
            created: ui.at(&created_at),
        }
    }
}
