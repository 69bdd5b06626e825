//! One delivery: each attempt with what was sent and what came back.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{HOME, request_address};
use crate::console::cell::{Cell, pretty};
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};
use crate::console::webhooks::advice::{Advice, advise};
use crate::console::webhooks::command::curl;
use crate::console::webhooks::webhook::{Standing, Webhook};
use crate::console::webhooks::{API, DELIVERIES};
use crate::resources::Resource;
use crate::webhooks;

#[derive(Deserialize)]
struct One {
    delivery: Delivery,
}

#[derive(Deserialize)]
struct OneWebhook {
    webhook: Webhook,
}

#[derive(Deserialize)]
struct OneStanding {
    figures: Standing,
}

#[derive(Debug, Deserialize)]
struct Delivery {
    id: String,
    event: String,
    event_id: String,
    webhook_id: String,
    status: String,
    next_attempt_at: Option<DateTime<Utc>>,
    replay_of: Option<String>,
    created_at: DateTime<Utc>,
    payload: Option<Value>,
    attempts: Vec<Attempt>,
}

#[derive(Debug, Deserialize)]
struct Attempt {
    number: u32,
    started_at: DateTime<Utc>,
    duration_ms: Option<u64>,
    status: Option<u16>,
    error: Option<String>,
    reason: Option<String>,
    resends: u32,
    request_headers: Map<String, Value>,
    response_headers: Option<Map<String, Value>>,
    response_body: Option<String>,
}

#[derive(Template)]
#[template(path = "webhooks/delivery.html")]
struct DeliveryPage {
    ui: Ui,
    delivery: Delivery,
    state: Cell,
    /// The URL of the webhook; `None` if it was deleted.
    url: Option<String>,
    created: Moment,
    /// Why it is not sent although it waits for its attempt.
    held: Option<String>,
    next: Option<Moment>,
    /// Whether it can be sent again.
    closed: bool,
    operating: bool,
    /// What followed from the request that published the event.
    request: Option<String>,
    payload: String,
    attempts: Vec<Shown>,
}

struct Shown {
    number: u32,
    started: Moment,
    took: Option<u64>,
    /// `200`, or the word of the log.
    result: String,
    tone: &'static str,
    advice: Advice,
    /// That the request was tried more than once.
    resent: Option<String>,
    request: Vec<(String, String)>,
    /// Whether the endpoint answered; the answer may not be shown.
    answered: bool,
    response: Option<Vec<(String, String)>>,
    body: Option<String>,
    /// The request as a command, if its body is known.
    command: Option<String>,
    /// Whether it is the latest, which is shown open.
    latest: bool,
}

/// `GET …/deliveries/{id}`
pub(super) async fn show(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let One { delivery } = console.api.read(&caller, &format!("{DELIVERIES}/{id}")).await?;
    let webhook = console.api.read::<OneWebhook>(&caller, &format!("{API}/{}", delivery.webhook_id)).await.ok().map(|one| one.webhook);
    let held = held(&console, &caller, &ui, &delivery, webhook.as_ref()).await;
    let url = webhook.map(|webhook| webhook.url);
    // The portal does not tell of requests.
    let request = if ui.home == HOME {
        let event = console.api.get(&caller, &format!("/developers/int/v1/events/{}", delivery.event_id)).await.ok();
        event.and_then(|answer| Some(request_address(answer.body["event"]["request_id"].as_str()?)))
    } else {
        None
    };
    let sent = delivery.payload.as_ref().map(Value::to_string);
    let last = delivery.attempts.iter().map(|attempt| attempt.number).max();
    let attempts = delivery.attempts.iter().rev();
    let page = DeliveryPage {
        state: Cell::word(&ui, &delivery.status),
        created: ui.at(&delivery.created_at),
        held,
        next: delivery.next_attempt_at.map(|at| ui.at(&at)),
        closed: matches!(delivery.status.as_str(), "delivered" | "failed" | "cancelled"),
        operating: caller.grant.allows_all(webhooks::Delivery::writing()),
        request,
        payload: delivery.payload.as_ref().map(pretty).unwrap_or_default(),
        attempts: attempts.map(|attempt| Shown::of(&ui, attempt, url.as_deref().unwrap_or_default(), sent.as_deref(), last)).collect(),
        url,
        delivery,
        ui,
    };
    Ok(Page(page).into_response())
}

/// Why a delivery is not sent although it waits for its attempt, in a sentence; `None` if it does not wait, or the attempt is due later.
async fn held(console: &Console, caller: &Caller, ui: &Ui, delivery: &Delivery, webhook: Option<&Webhook>) -> Option<String> {
    let due = delivery.next_attempt_at?;
    if let Some(webhook) = webhook
        && let Ok(OneStanding { figures }) = console.api.read(caller, &format!("{API}/{}/figures", webhook.id)).await
        && let Some(held) = webhook.holds(ui, &figures, due, delivery.replay_of.is_some())
    {
        return Some(held);
    }
    (due <= ui.now()).then(|| ui.t("It is due and waits for its turn.").to_owned())
}

impl Shown {
    fn of(ui: &Ui, attempt: &Attempt, url: &str, sent: Option<&str>, last: Option<u32>) -> Self {
        let succeeded = attempt.status.is_some_and(|status| (200..300).contains(&status));
        let result = attempt.status.map(|status| status.to_string()).or_else(|| attempt.error.clone()).unwrap_or_default();
        Self {
            number: attempt.number,
            started: ui.at(&attempt.started_at),
            took: attempt.duration_ms,
            result,
            tone: if succeeded { "good" } else { "bad" },
            advice: advise(attempt.status, attempt.error.as_deref(), attempt.reason.as_deref()),
            resent: (attempt.resends > 0).then(|| {
                let times = (attempt.resends + 1).to_string();
                ui.say("It was tried {} times within this attempt: an old connection ended, or the endpoint had not processed it.", [times])
            }),
            request: lines(&attempt.request_headers),
            answered: attempt.status.is_some(),
            response: attempt.response_headers.as_ref().map(lines),
            body: attempt.response_body.clone().filter(|body| !body.is_empty()),
            command: sent.map(|body| curl(url, &attempt.request_headers, body)),
            latest: Some(attempt.number) == last,
        }
    }
}

fn lines(headers: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    headers.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}
