//! The assembled service: its state from the settings, its router from the modules.

mod extensions;
mod health;
mod openapi;
mod problems;
mod process;
mod state;

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::routing::get;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::config::{Config, CorsOrigin, Environment};
use crate::console::{self, Api, Console};
use crate::dev;
use crate::gateways;
use crate::kernel::client_address::TrustedProxies;
use crate::kernel::middleware;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::{realtime, storefront};

pub use extensions::{catalogue, declarations};
pub use process::{Dependencies, Process, SetupError};
pub use state::AppState;

/// The routes of all modules; in development, those of the mailbox too. An unknown path gets `route_unknown`.
pub fn router(state: AppState, config: &Config) -> Router {
    let storefront = storefront::routes(&state.storefront, realtime::storefront_routes());
    let mut description = storefront.description();
    let mut router = Router::new().nest(storefront::PATH, storefront.into_router());
    let mut kinds = Vec::new();
    for extension in extensions::all(&state) {
        description.merge(extension.description());
        kinds.extend_from_slice(extension.kinds());
        router = router.nest(&extension.path(), extension.into_router());
    }
    description.merge(gateways::callback_description());
    description.merge(realtime::description());
    router = router
        .merge(openapi::routes(description))
        .merge(gateways::callback_routes())
        .merge(realtime::routes())
        .route("/problems", get(problems::list))
        .route("/problems/{code}", get(problems::show))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready));
    if config.environment() == Environment::Development {
        router = router.merge(dev::mailbox::routes());
    }
    let (operators, clock, lifecycle) = (state.operators.clone(), state.clock.clone(), state.lifecycle.clone());
    let api = router.with_state::<()>(state);
    let secure = config.environment() == Environment::Production;
    let console = Console::new(Api::new(api.clone()), kinds, operators, clock, lifecycle, secure);
    let router = api.merge(console::routes(console)).fallback(async || Problem::new(ProblemCode::RouteUnknown));
    let router = match cors(&config.http.cors_origins) {
        Some(cors) => router.layer(cors),
        None => router,
    };
    middleware::layer(router, TrustedProxies::new(&config.http.trusted_proxies))
}

/// Allows the listed origins. If none are listed, no CORS header is sent, and browsers block cross-origin calls.
fn cors(origins: &[CorsOrigin]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins.iter().map(|CorsOrigin(origin)| origin.clone())))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE, header::IF_MATCH, HeaderName::from_static("customer-token")])
        .expose_headers([header::ETAG, header::RETRY_AFTER, HeaderName::from_static("x-request-id")]);
    Some(layer)
}
