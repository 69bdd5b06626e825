//! One event: its data, its deliveries, and why it did not arrive somewhere.

use askama::Template;
use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::console::Console;
use crate::console::addresses::{HOME, request_address};
use crate::console::cell::{Cell, pretty};
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};
use crate::kernel::routing::get;

/// The path of events in the API.
const API: &str = "/developers/int/v1/events";

#[derive(Deserialize)]
struct One {
    event: Event,
}

#[derive(Deserialize)]
struct Event {
    id: String,
    event: String,
    created_at: DateTime<Utc>,
    sequence: Option<i64>,
    request_id: Option<String>,
    /// Missing if the operator's role does not reach what the event is about.
    data: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Deliveries {
    deliveries: Vec<Delivery>,
}

#[derive(Deserialize)]
struct Delivery {
    id: String,
    webhook_id: String,
    status: String,
    attempt_count: u32,
}

#[derive(Deserialize)]
struct Webhooks {
    webhooks: Vec<Webhook>,
}

#[derive(Deserialize)]
struct Webhook {
    id: String,
    url: String,
}

#[derive(Deserialize)]
struct Explained {
    explanation: Explanation,
}

#[derive(Deserialize)]
struct Explanation {
    delivery_id: Option<String>,
    gates: Vec<Gate>,
}

#[derive(Deserialize)]
struct Gate {
    passed: bool,
    detail: String,
}

#[derive(Default, Deserialize)]
struct Asked {
    #[serde(default)]
    webhook: String,
}

#[derive(Template)]
#[template(path = "events.html")]
struct EventPage {
    ui: Ui,
    event: Event,
    published: Moment,
    /// The record that it is about.
    subject: Cell,
    /// What followed from the request that published it.
    request: Option<String>,
    data: Option<String>,
    deliveries: Vec<Row>,
    /// The webhooks to ask about.
    webhooks: Vec<Choice>,
    explanation: Option<Explanation>,
}

struct Choice {
    webhook: Webhook,
    chosen: bool,
}

struct Row {
    id: String,
    webhook: String,
    state: Cell,
    attempts: u32,
}

/// The pages, below the first page of the console or the portal.
pub(super) fn routes() -> Router<Console> {
    Router::new().route("/events/{id}", get(show))
}

async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    RecordId(id): RecordId,
    Query(asked): Query<Asked>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let One { event } = console.api.read(&caller, &format!("{API}/{id}")).await?;
    let deliveries = format!("/developers/int/v1/deliveries?event_id={}&limit=100", event.id);
    let Deliveries { deliveries } = console.api.read(&caller, &deliveries).await?;
    let Webhooks { webhooks } = console.api.read(&caller, "/developers/int/v1/webhooks?limit=100").await?;
    // Only a webhook of the list is asked about, so nothing of the address becomes part of a path.
    let wanted = webhooks.iter().find(|webhook| webhook.id == asked.webhook);
    let explanation = match wanted {
        Some(webhook) => {
            let path = format!("{API}/{}/explain?webhook={}", event.id, webhook.id);
            Some(console.api.read::<Explained>(&caller, &path).await?.explanation)
        }
        None => None,
    };
    let url_of = |id: &str| webhooks.iter().find(|webhook| webhook.id == id).map_or(id, |webhook| webhook.url.as_str()).to_owned();
    let row = |delivery: Delivery| Row {
        webhook: url_of(&delivery.webhook_id),
        state: Cell::word(&ui, &delivery.status),
        id: delivery.id,
        attempts: delivery.attempt_count,
    };
    let deliveries = deliveries.into_iter().map(row).collect();
    let page = EventPage {
        published: ui.at(&event.created_at),
        subject: Cell::plain(&ui, &console.kinds, event.data.as_ref().and_then(|data| data.get("id")).unwrap_or(&Value::Null)),
        request: event.request_id.as_deref().filter(|_| ui.home == HOME).map(request_address),
        data: event.data.clone().map(|data| pretty(&Value::Object(data))),
        deliveries,
        webhooks: webhooks.into_iter().map(|webhook| Choice { chosen: webhook.id == asked.webhook, webhook }).collect(),
        explanation,
        event,
        ui,
    };
    Ok(Page(page).into_response())
}
