//! From an id, an address or a number to its page. Only exact finds: nothing here reads a whole table.

use askama::Template;
use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use serde::Deserialize;
use url::form_urlencoded;

use crate::console::Console;
use crate::console::addresses::{list_address, record_address};
use crate::console::session::Visitor;
use crate::console::shell::{Page, PageError, Ui};
use crate::resources::{KindDoc, label};

/// The filters that find a record by something that people write down, by kind and in the order of the answer.
const FINDABLE: [(&str, &str, &str); 9] = [
    ("storefront", "customers", "email"),
    ("storefront", "customers", "phone"),
    ("fleet", "orders", "internal_id"),
    ("fleet", "orders", "tracking_number"),
    ("fleet", "drivers", "internal_id"),
    ("fleet", "vehicles", "plate_number"),
    ("ledger", "payments", "gateway_transaction_id"),
    ("developers", "events", "event"),
    ("developers", "webhooks", "url"),
];

#[derive(Template)]
#[template(path = "search/results.html")]
struct Results {
    ui: Ui,
    wanted: String,
    found: Vec<Found>,
}

struct Found {
    kind: String,
    by: String,
    address: String,
}

#[derive(Default, Deserialize)]
struct Wanted {
    #[serde(default)]
    q: String,
}

pub(super) fn routes() -> Router<Console> {
    Router::new().route("/console/search", get(show))
}

async fn show(State(console): State<Console>, visitor: Visitor, Query(Wanted { q }): Query<Wanted>) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let wanted = q.trim();
    if let Some(kind) = console.kinds.of_id(wanted).filter(|kind| caller.grant.allows(kind.area, kind.reading)) {
        return Ok(Redirect::to(&record_address(kind, wanted)).into_response());
    }
    let mut found = Vec::new();
    for (namespace, plural, filter) in FINDABLE {
        let visible = console.kinds.visible_to(&caller).find(|kind| kind.namespace == namespace && kind.descriptor.plural == plural);
        let Some(kind) = visible.filter(|kind| !wanted.is_empty() && has(kind, filter)) else { continue };
        let query = form_urlencoded::Serializer::new(String::new()).append_pair(filter, wanted).finish();
        // A text that cannot be a value of this filter finds nothing.
        let Ok(answer) = console.api.get(&caller, &format!("/{namespace}/int/v1/{}?{query}&limit=1", kind.path())).await else { continue };
        if answer.body[plural].as_array().is_some_and(|records| !records.is_empty()) {
            let address = format!("{}?{query}", list_address(kind));
            found.push(Found { kind: label(plural), by: label(filter), address });
        }
    }
    if let [only] = found.as_slice() {
        return Ok(Redirect::to(&only.address).into_response());
    }
    Ok(Page(Results { ui, wanted: wanted.to_owned(), found }).into_response())
}

fn has(kind: &KindDoc, filter: &str) -> bool {
    kind.descriptor.filters.iter().any(|known| known.name == filter)
}
