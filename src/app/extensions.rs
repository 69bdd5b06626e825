//! Every extension, those written in Rust and those that files declare; and the document that describes them.

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::AppState;
use crate::declared::{self, BadDeclaration, BuiltIn, Declaration};
use crate::events::Catalogue;
use crate::resources::{self, Extension, Referable};
use crate::{developers, fleet, gateways, storefront, webhooks};

fn built_in() -> Vec<Extension<AppState>> {
    vec![fleet::extension(), webhooks::extension().merge(developers::extension()), storefront::operator_extension(), gateways::extension()]
}

/// What the files of `extensions.directory` declare beside.
pub fn declarations(settings: &declared::Settings) -> Result<Vec<Declaration>, BadDeclaration> {
    let kinds: Vec<Referable> = built_in().iter().flat_map(|extension| extension.kinds().to_vec()).collect();
    settings.load(&BuiltIn { kinds: &kinds, events: &Catalogue::built_in() })
}

/// The routes of all of them, and `GET /openapi.json`.
pub(super) fn routes(state: &AppState) -> Router<AppState> {
    let extensions: Vec<_> = built_in().into_iter().chain(state.declared.extensions(&state.companies)).collect();
    let document = resources::document(extensions.iter().map(Extension::description));
    // Put together once: it is the same for everybody, and says nothing that is not in this repository or in the deployment's files.
    let document = Bytes::from(serde_json::to_vec(&document).expect("a document of JSON is JSON"));
    let show = async move || ([(header::CONTENT_TYPE, "application/json")], document.clone()).into_response();
    let nest = |router: Router<AppState>, extension: Extension<AppState>| router.nest(&extension.path(), extension.into_router());
    extensions.into_iter().fold(Router::new(), nest).route("/openapi.json", get(show))
}
