//! All webhooks, each with its last day.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::cell::Cell;
use crate::console::charts::Sparkline;
use crate::console::session::Visitor;
use crate::console::shell::{Moment, Page, PageError, Ui, is_mistake};
use crate::console::webhooks::webhook::{Standing, Webhook};
use crate::console::webhooks::{API, LIST};
use crate::resources::Resource;
use crate::webhooks::Subscription;

/// The states that the list can be narrowed to, and their names.
const TABS: [(&str, &str); 4] = [("", "All"), ("enabled", "Enabled"), ("paused", "Paused"), ("disabled", "Disabled")];
/// The parameters that are passed on to the API.
const PASSED: [&str; 7] = ["query", "status", "url", "created_after", "created_before", "sort", "after"];

#[derive(Deserialize)]
struct Webhooks {
    webhooks: Vec<Webhook>,
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    next: Option<String>,
}

#[derive(Deserialize)]
struct Standings {
    figures: Vec<Standing>,
}

#[derive(Template)]
#[template(path = "webhooks/list.html")]
struct ListPage {
    ui: Ui,
    creatable: bool,
    query: String,
    status: String,
    tabs: Vec<(&'static str, String, bool)>,
    /// Why there is no list.
    refusal: Option<String>,
    filtered: bool,
    rows: Vec<Row>,
    older: Option<String>,
    newest: Option<String>,
}

struct Row {
    address: String,
    url: String,
    description: Option<String>,
    state: Cell,
    /// Since when it fails, and whether its circuit is closed.
    failing_since: Option<Moment>,
    circuit: String,
    spark: Sparkline,
    success: String,
    p95: String,
    waiting: String,
}

/// `GET …/records/developers/webhooks`, in place of the list that every kind has.
pub(super) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let given = |name: &str| parameters.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.trim());
    let with = |changed: &[(&str, &str)], path: &str| {
        let value = |name: &'static str| changed.iter().find(|(other, _)| *other == name).map_or(given(name), |(_, value)| value);
        with_query(path, PASSED.map(|name| (name, value(name))))
    };
    let list = format!("{}{LIST}", ui.home);
    let filtered = PASSED[..5].iter().any(|name| !given(name).is_empty());
    let (found, refusal) = match console.api.read::<Webhooks>(&caller, &with(&[], API)).await {
        Ok(found) => (found, None),
        // A filter that makes no sense is answered beside the filters.
        Err(problem) if is_mistake(&problem) && filtered => {
            (Webhooks { webhooks: Vec::new(), meta: Meta { next: None } }, Some(problem.to_string()))
        }
        Err(problem) => return Err(problem.into()),
    };
    let ids = found.webhooks.iter().map(|webhook| webhook.id.as_str()).collect::<Vec<_>>().join(",");
    let Standings { figures } = match ids.as_str() {
        "" => Standings { figures: Vec::new() },
        ids => console.api.read(&caller, &format!("{API}/figures?ids={ids}")).await?,
    };
    let page = ListPage {
        creatable: caller.grant.allows_all(Subscription::writing()),
        query: given("query").to_owned(),
        status: given("status").to_owned(),
        tabs: TABS.map(|(status, label)| (label, with(&[("status", status), ("after", "")], &list), status == given("status"))).into(),
        refusal,
        filtered,
        rows: found
            .webhooks
            .into_iter()
            .filter_map(|webhook| {
                let standing = figures.iter().find(|standing| standing.webhook_id == webhook.id)?;
                Some(Row::of(&ui, webhook, standing))
            })
            .collect(),
        older: found.meta.next.map(|next| with(&[("after", &next)], &list)),
        newest: (!given("after").is_empty()).then(|| with(&[("after", "")], &list)),
        ui,
    };
    Ok(Page(page).into_response())
}

impl Row {
    fn of(ui: &Ui, webhook: Webhook, standing: &Standing) -> Self {
        let (word, tone) = webhook.state(standing);
        Self {
            address: format!("{}/webhooks/{}", ui.home, webhook.id),
            state: Cell::Word { word: ui.word(word), tone },
            failing_since: standing.failing_since.filter(|_| standing.is_failing()).map(|at| ui.at(&at)),
            circuit: standing.circuit.clone(),
            spark: standing.figures.sparkline(ui),
            success: standing.figures.success(),
            p95: standing.figures.p95(),
            waiting: standing.waiting(),
            url: webhook.url,
            description: webhook.description,
        }
    }
}
