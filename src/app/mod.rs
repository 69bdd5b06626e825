//! The assembled service: its state from the settings, its router from the modules.

mod admin_listener;
mod cells;
mod extensions;
mod figures;
mod health;
mod metrics;
mod openapi;
mod problems;
mod process;
mod sealed;
mod state;
mod sweeping;

use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::middleware::from_fn_with_state;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::companies;
use crate::config::{Config, Environment};
use crate::console::{self, Api, Console};
use crate::dev;
use crate::developers;
use crate::gateways;
use crate::handbook::Handbook;
use crate::kernel::client_address::TrustedProxies;
use crate::kernel::middleware;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_body::BodyLimits;
use crate::kernel::routing::get;
use crate::kernel::web_origin::WebOrigin;
use crate::resources::KindDoc;
use crate::{realtime, storefront};

pub use admin_listener::AdminListener;
pub use cells::{Cell, Cells, Move, Moved, Side, Stuck, Undone};
pub use extensions::{catalogue, declarations};
pub use metrics::{Metrics, Swept};
pub use process::{Dependencies, Process, SetupError};
pub use sealed::sealed_columns;
pub use state::AppState;

/// The headers of responses that apps in browsers may read, besides the usual ones.
const EXPOSED: [&str; 5] = ["code-request", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-request-id"];
/// How long browsers need not ask again whether they may call. Chromium asks after two hours in any case.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(2 * 60 * 60);

/// The routes of all modules on all cells; in development, those of the mailbox too. An unknown path gets `route_unknown`.
pub fn router(cells: impl Into<Cells>, config: &Config) -> Router {
    cells.into().router(config)
}

/// The routes on one cell.
fn single_router(state: AppState, config: &Config) -> Router {
    let Described { mut router, kinds, handbook } = described(&state);
    router = router
        .merge(openapi::routes(handbook.clone()))
        .merge(gateways::callback_routes())
        .merge(storefront::receipt_routes())
        .merge(realtime::routes())
        .route("/problems", get(problems::list))
        .route("/problems/{code}", get(problems::show))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready));
    if config.environment() == Environment::Development {
        router = router.merge(dev::mailbox::routes());
    }
    let (operators, portal) = (state.operators.clone(), state.portal.clone());
    let (clock, lifecycle) = (state.clock.clone(), state.lifecycle.clone());
    let surroundings = middleware::Surroundings {
        trusted_proxies: TrustedProxies::new(&config.http.trusted_proxies, config.http.forwarded_header),
        clock: clock.clone(),
        traces: state.traces.clone(),
        metrics: state.requests.clone(),
        access_log: config.log.access,
        body_limits: BodyLimits::new(gateways::LARGER_BODIES.into_iter().chain(developers::LARGER_BODIES).chain([storefront::LARGER_BODY])),
        customers_below: storefront::PATH,
        stopping: lifecycle.stopping().clone(),
    };
    if let Some(replica) = state.companies.pool.replica() {
        router = router.layer(from_fn_with_state(replica.clone(), companies::note_writes));
    }
    let api = router.with_state::<()>(state);
    let production = config.environment() == Environment::Production;
    let api_in_process = Api::new(api.clone());
    let console = Console::new(console::Parts { api: api_in_process, kinds, handbook, operators, portal, clock, lifecycle, production });
    let router = api.merge(console::routes(console)).fallback(async || Problem::new(ProblemCode::RouteUnknown));
    let router = match cors(&config.http.cors_origins) {
        Some(cors) => router.layer(cors),
        None => router,
    };
    middleware::layer(router, surroundings)
}

/// What the documentation of a service with this state says.
pub fn handbook(state: &AppState) -> Handbook {
    described(state).handbook
}

/// The routes that describe themselves, and what they say.
struct Described {
    router: Router<AppState>,
    kinds: Vec<KindDoc>,
    handbook: Handbook,
}

fn described(state: &AppState) -> Described {
    let storefront = storefront::routes(&state.storefront, realtime::storefront_routes());
    let of_storefront = storefront.description();
    let mut router = Router::new().nest(storefront::PATH, storefront.into_router());
    let extensions: Vec<_> = extensions::all(state).collect();
    for extension in &extensions {
        let limits = from_fn_with_state(state.request_limits.clone(), companies::keep_limits);
        router = router.nest(&extension.path(), extension.router().layer(limits));
    }
    let kinds = extensions.iter().flat_map(|extension| extension.kinds().to_vec()).collect();
    let catalogue = state.developers.catalogue.clone();
    let document = move || {
        let mut description = of_storefront;
        let of_extensions = extensions.iter().map(|extension| extension.description());
        let others = [gateways::callback_description(), storefront::receipt_description(), realtime::description()];
        of_extensions.chain(others).for_each(|other| description.merge(other));
        openapi::document(description, &catalogue)
    };
    Described { router, kinds, handbook: Handbook::new(document) }
}

/// Allows the listed origins. If none are listed, no CORS header is sent, and browsers block cross-origin calls.
fn cors(origins: &[WebOrigin]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins.iter().map(|WebOrigin(origin)| origin.clone())))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(
            ["authorization", "content-type", "if-match", "customer-token", "device-name", "portico-challenge"]
                .map(HeaderName::from_static),
        )
        .expose_headers([header::ETAG, header::RETRY_AFTER].into_iter().chain(EXPOSED.map(HeaderName::from_static)).collect::<Vec<_>>())
        .max_age(PREFLIGHT_MAX_AGE);
    Some(layer)
}
