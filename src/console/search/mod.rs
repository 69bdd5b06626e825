//! From an id, an address or a number to its page. Only exact finds: nothing here reads a whole table.

use askama::Template;
use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::console::Console;
use crate::console::addresses::{list_address, record_address, request_address, with_query};
use crate::console::session::Visitor;
use crate::console::shell::{Page, PageError, Ui};
use crate::kernel::routing::get;
use crate::resources::label;

/// The filters that find a record by something that people write down: the namespace and path of the list, and the parameter. In the
/// order of the answer.
const FINDABLE: [(&str, &str, &str); 15] = [
    ("storefront", "customers", "email"),
    ("storefront", "customers", "phone"),
    ("storefront", "customers", "external_id"),
    ("fleet", "orders", "internal_id"),
    ("fleet", "orders", "tracking_number"),
    ("fleet", "drivers", "email"),
    ("fleet", "drivers", "phone"),
    ("fleet", "drivers", "license_number"),
    ("fleet", "vehicles", "plate_number"),
    ("fleet", "vehicles", "vin"),
    ("ledger", "payments", "gateway_transaction_id"),
    ("developers", "events", "event"),
    ("developers", "webhooks", "url"),
    ("developers", "changes", "request_id"),
    ("developers", "events", "request_id"),
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
    if let Some(kind) = console.kinds.find_of_id(&caller, wanted) {
        return Ok(Redirect::to(&record_address(kind, wanted)).into_response());
    }
    let mut found = Vec::new();
    for (namespace, path, filter) in FINDABLE.into_iter().filter(|_| !wanted.is_empty()) {
        let Some(kind) = console.kinds.find(&caller, namespace, path) else { continue };
        // A text that cannot be a value of this filter finds nothing.
        let Ok(answer) = console.api.get(&caller, &with_query(&kind.list_path(), [(filter, wanted), ("limit", "2")])).await else {
            continue;
        };
        let plural = kind.descriptor.plural;
        let address = match answer.body[plural].as_array().map(Vec::as_slice) {
            None | Some([]) => continue,
            // Whoever has a customer on the phone wants the page, not a list of one.
            Some([only]) if plural == "customers" => record_address(kind, only["id"].as_str().unwrap_or_default()),
            Some(_) if filter == "request_id" => request_address(wanted),
            Some(_) => with_query(&list_address(kind), [(filter, wanted)]),
        };
        found.push(Found { kind: label(plural), by: label(filter), address });
    }
    found.dedup_by(|one, other| one.address == other.address);
    if let [only] = found.as_slice() {
        return Ok(Redirect::to(&only.address).into_response());
    }
    Ok(Page(Results { ui, wanted: wanted.to_owned(), found }).into_response())
}
