//! The extensions that are written in Rust, the document that describes them, and what declared ones may refer to of theirs.

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::AppState;
use crate::declared::Target;
use crate::resources::{self, Extension};
use crate::{developers, fleet, gateways, storefront, webhooks};

/// All of them.
fn all() -> Vec<Extension<AppState>> {
    vec![fleet::extension(), webhooks::extension().merge(developers::extension()), storefront::operator_extension(), gateways::extension()]
}

/// Their routes, and `GET /openapi.json`.
pub(super) fn routes() -> Router<AppState> {
    let extensions = all();
    let document = resources::document(extensions.iter().map(Extension::description));
    // Put together once: it is the same for everybody, and says nothing that is not in this repository.
    let document = Bytes::from(serde_json::to_vec(&document).expect("a document of JSON is JSON"));
    let show = async move || ([(header::CONTENT_TYPE, "application/json")], document.clone()).into_response();
    let nest = |router: Router<AppState>, extension: Extension<AppState>| router.nest(&extension.path(), extension.into_router());
    extensions.into_iter().fold(Router::new(), nest).route("/openapi.json", get(show))
}

/// Each with the table, or the view that gives it the form of one, that records can be looked up in. Their namespaces are taken.
pub(super) fn referable() -> Vec<Target> {
    let kinds = [
        ("fleet/orders", "orders", "order"),
        ("fleet/drivers", "drivers", "driver"),
        ("storefront/customers", "customer_records", "customer"),
        ("storefront/stores", "stores", "store"),
        ("ledger/payments", "payments", "payment"),
        ("developers/webhooks", "subscriptions", "webhook"),
    ];
    kinds.map(|(kind, table, prefix)| Target { kind: kind.to_owned(), table: Some(table), prefix }).into()
}
