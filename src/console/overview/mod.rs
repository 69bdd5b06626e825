//! The first page: what was sent, what needs a person now, and what happened last.

mod traffic;
mod webhooks;

use askama::Template;
use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{list_address, record_address, with_query};
use crate::console::cell::Cell;
use crate::console::charts::Period;
use crate::console::overview::traffic::Traffic;
use crate::console::records::title_of;
use crate::console::session::Visitor;
use crate::console::shell::{Page, PageError, Ui};
use crate::console::texts::Figures;
use crate::kernel::routing::get;
use crate::resources::label;

/// How many of its latest entries a list shows here.
const ENTRIES: usize = 5;
/// How many of them, if they are trouble: much of one kind must not hide another.
const TROUBLES: usize = 3;

/// The lists in which something may need a person: the namespace and path, what narrows it, and the heading.
const TROUBLE: [(&str, &str, (&str, &str), &str); 7] = [
    ("developers", "webhooks", ("status", "disabled"), "Disabled webhooks"),
    ("developers", "webhooks", ("status", "paused"), "Paused webhooks"),
    ("developers", "deliveries", ("status", "failed"), "Failed deliveries"),
    ("developers", "deliveries", ("status", "retrying"), "Deliveries that failed so far and are tried again"),
    ("ledger", "callbacks", ("status", "failed"), "Callbacks that could not be processed"),
    ("storefront", "stores", ("texts_paused", "true"), "Stores whose texts are paused"),
    ("fleet", "issues", ("status", "open"), "Open issues"),
];

/// The lists whose latest entries are shown.
const LATEST: [(&str, &str); 3] = [("developers", "events"), ("storefront", "customers"), ("fleet", "orders")];

#[derive(Template)]
#[template(path = "overview/overview.html")]
struct Overview {
    ui: Ui,
    traffic: Option<Traffic>,
    trouble: Vec<Card>,
    latest: Vec<Card>,
    /// Whether the company has no webhook yet, and the visitor may create one.
    first_webhook: bool,
    /// Sign-ins and texts in numbers, for who may see customers.
    figures: Option<Figures>,
}

struct Card {
    heading: String,
    address: String,
    entries: Vec<Entry>,
}

struct Entry {
    address: String,
    title: String,
    created: Cell,
}

#[derive(Default, Deserialize)]
struct Shown {
    #[serde(default)]
    period: String,
}

pub(super) fn routes() -> Router<Console> {
    Router::new().route("/console", get(show))
}

async fn show(State(console): State<Console>, visitor: Visitor, Query(shown): Query<Shown>) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let traffic = Traffic::find(&console, &ui, &caller, Period::read(&shown.period)).await?;
    let mut trouble = webhooks::in_trouble(&console, &ui, &caller).await?;
    for (namespace, path, filter, heading) in TROUBLE {
        trouble.extend(card(&console, &ui, &caller, (namespace, path), Some(filter), heading.to_owned(), TROUBLES).await?);
    }
    trouble.retain(|card| !card.entries.is_empty());
    let mut latest = Vec::new();
    for (namespace, path) in LATEST {
        latest.extend(card(&console, &ui, &caller, (namespace, path), None, label(path), ENTRIES).await?);
    }
    let webhooks = card(&console, &ui, &caller, ("developers", "webhooks"), None, String::new(), 1).await?;
    let first_webhook = webhooks.is_some_and(|webhooks| webhooks.entries.is_empty());
    let figures = Figures::read(&console, &caller, &ui).await?;
    Ok(Page(Overview { ui, traffic, trouble, latest, first_webhook, figures }).into_response())
}

/// The latest records of a list; `None` if the caller may not see them.
async fn card(
    console: &Console,
    ui: &Ui,
    caller: &Caller,
    (namespace, path): (&str, &str),
    filter: Option<(&str, &str)>,
    heading: String,
    entries: usize,
) -> Result<Option<Card>, PageError> {
    let Some(kind) = console.kinds.find(caller, namespace, path) else { return Ok(None) };
    let limit = entries.to_string();
    let answer = console.api.get(caller, &with_query(&kind.list_path(), filter.into_iter().chain([("limit", limit.as_str())]))).await?;
    let entry = |record: &Value| Entry {
        address: record_address(kind, record["id"].as_str().unwrap_or_default()),
        title: title_of(record),
        created: Cell::plain(ui, &console.kinds, &record["created_at"]),
    };
    let entries = answer.body[kind.descriptor.plural].as_array().into_iter().flatten().map(entry).collect();
    Ok(Some(Card { heading, address: with_query(&list_address(kind), filter), entries }))
}
