//! One request: what it changed, what it published, where that went and what came back, in order of time.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{list_address, record_address, request_address, with_query};
use crate::console::cell::Cell;
use crate::console::history;
use crate::console::records::member;
use crate::console::sentence::Sentence;
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};
use crate::kernel::request_id::RequestId;
use crate::kernel::routing::get;
use crate::resources::KindDoc;

/// How many changes, and how many events, a page tells of. The lists have the others.
const TOLD: usize = 50;
/// How many deliveries are told of each event.
const DELIVERIES: &str = "10";
/// Of how many deliveries the page tells what came back. Each of them is a request to the API.
const ANSWERS: usize = 50;

/// Something that followed from the request.
struct Step {
    at: DateTime<Utc>,
    when: Moment,
    state: Cell,
    sentence: Sentence,
}

#[derive(Template)]
#[template(path = "requests/page.html")]
struct RequestPage {
    ui: Ui,
    id: String,
    steps: Vec<Step>,
    /// The lists with everything, if there is more than the page tells.
    lists: Vec<(&'static str, String)>,
}

/// Whom the steps are told to.
struct Telling<'a> {
    console: &'a Console,
    caller: &'a Caller,
    ui: &'a Ui,
    steps: Vec<Step>,
}

pub(super) fn routes() -> Router<Console> {
    Router::new().route(&request_address("{id}"), get(show))
}

async fn show(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let id = id.parse::<RequestId>().map_err(|_| PageError::NOT_FOUND)?.to_string();
    let mut telling = Telling { console: &console, caller: &caller, ui: &ui, steps: Vec::new() };
    let mut lists = Vec::new();
    for (plural, title) in [("changes", "All changes"), ("events", "All events")] {
        let Some(kind) = console.kinds.find(&caller, "developers", plural) else { continue };
        let limit = TOLD.to_string();
        let query = [("request_id", id.as_str()), ("limit", limit.as_str())];
        let answer = console.api.get(&caller, &with_query(&kind.list_path(), query)).await?;
        let records = answer.body[plural].as_array().map(Vec::as_slice).unwrap_or_default();
        if records.len() == TOLD {
            lists.push((title, with_query(&list_address(kind), [("request_id", id.as_str())])));
        }
        // Lists begin with the latest.
        for record in records.iter().rev() {
            let step = if plural == "changes" { telling.change(kind, record) } else { telling.event(kind, record) };
            telling.steps.extend(step);
        }
        if plural == "events" && !records.is_empty() {
            telling.add_deliveries(records).await?;
        }
    }
    // Stable: a change comes before its event, and an event before its deliveries.
    telling.steps.sort_by_key(|step| step.at);
    let steps = telling.steps;
    Ok(Page(RequestPage { ui, id, steps, lists }).into_response())
}

impl Telling<'_> {
    fn step(&self, at: &Value, state: Cell, sentence: Sentence) -> Option<Step> {
        let at = at.as_str()?.parse().ok()?;
        Some(Step { at, when: self.ui.at(&at), state, sentence })
    }

    fn change(&self, kind: &KindDoc, change: &Value) -> Option<Step> {
        let act = history::act(kind, change);
        let [record, who] = ["record", "caller_id"].map(|name| member(self.ui, &self.console.kinds, kind, change, name));
        let sentence = match who {
            Cell::Empty => Sentence::of(self.ui.t("{} was changed: {}."), [record, act]),
            who => Sentence::of(self.ui.t("{} was changed by {}: {}."), [record, who, act]),
        };
        self.step(&change["created_at"], Cell::word(self.ui, "change"), sentence)
    }

    fn event(&self, kind: &KindDoc, event: &Value) -> Option<Step> {
        self.step(&event["created_at"], Cell::word(self.ui, "event"), history::published(self.ui, kind, event))
    }

    /// Tells where the events went, and what came back.
    async fn add_deliveries(&mut self, events: &[Value]) -> Result<(), PageError> {
        let Some(kind) = self.console.kinds.find(self.caller, "developers", "deliveries") else { return Ok(()) };
        let webhooks = self.console.api.get(self.caller, "/developers/int/v1/webhooks?limit=100").await?.body;
        let mut left = ANSWERS;
        for event in events.iter().rev() {
            let query = [("event_id", event["id"].as_str().unwrap_or_default()), ("limit", DELIVERIES)];
            let answer = self.console.api.get(self.caller, &with_query(&kind.list_path(), query)).await?;
            for delivery in answer.body["deliveries"].as_array().into_iter().flatten().rev() {
                let id = delivery["id"].as_str().unwrap_or_default();
                if left == 0 {
                    self.steps.extend(self.delivery(kind, delivery, &webhooks));
                    continue;
                }
                left -= 1;
                let whole = self.console.api.get(self.caller, &kind.record_path(id)).await?;
                self.steps.extend(self.delivery(kind, &whole.body["delivery"], &webhooks));
            }
        }
        Ok(())
    }

    /// A delivery, with its attempts if they are known.
    fn delivery(&self, kind: &KindDoc, delivery: &Value, webhooks: &Value) -> Option<Step> {
        let (ui, id) = (self.ui, delivery["id"].as_str()?);
        let event = Cell::Link { address: record_address(kind, id), text: delivery["event"].as_str()?.to_owned() };
        let named = webhooks["webhooks"].as_array().into_iter().flatten().find(|webhook| webhook["id"] == delivery["webhook_id"]);
        let url = named.and_then(|webhook| webhook["url"].as_str());
        let webhook = match Cell::plain(ui, &self.console.kinds, &delivery["webhook_id"]) {
            Cell::Link { address, text } => Cell::Link { address, text: url.map_or(text, str::to_owned) },
            other => other,
        };
        let state = Cell::word(ui, delivery["status"].as_str()?);
        let attempts = delivery["attempts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(latest) = attempts.iter().max_by_key(|attempt| attempt["number"].as_u64()) else {
            return self.step(&delivery["created_at"], state, Sentence::of(ui.t("{} goes to {}."), [event, webhook]));
        };
        let sentence = match (latest["status"].as_u64(), latest["error"].as_str()) {
            (Some(status), None) => {
                Sentence::of(ui.t("{} was sent to {}, which answered {}."), [event, webhook, Cell::Text(status.to_string())])
            }
            (_, error) => {
                let reason = latest["reason"].as_str().map(|reason| format!(" ({reason})")).unwrap_or_default();
                let error = Cell::Text(error.unwrap_or_default().to_owned() + &reason);
                Sentence::of(ui.t("{} was sent to {}, and no whole answer came back: {}."), [event, webhook, error])
            }
        };
        self.step(&latest["started_at"], state, sentence)
    }
}
