//! All metrics of an instance in one registry, and `GET /metrics`, which writes them.
//!
//! They have a listener of their own, so that whoever reaches the service does not reach them.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::AppState;
use crate::app::figures::Figures;
use crate::kernel::metrics::{Kind, MEDIA_TYPE, Registry, Seconds};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::{cache_metrics, group_metrics};

crate::labels! {
    /// Of the program.
    pub struct BuildLabels {
        /// Its version.
        pub version: &'static str,
    }
}

crate::labels! {
    /// Of work that removes what has expired.
    pub struct TaskLabels {
        /// `rows` (once a minute) or `partitions` (once an hour).
        pub task: &'static str,
    }
}

/// When expired rows were last removed by this instance, in seconds since 1970.
#[derive(Clone, Debug, Default)]
pub struct Swept(pub(super) Seconds);

/// The metrics of one instance. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    figures: Figures,
}

impl Metrics {
    /// Makes the registry, and has every part of `state` register its metrics.
    pub fn new(state: &AppState) -> Self {
        let mut registry = Registry::default();
        let built = || vec![(BuildLabels { version: env!("CARGO_PKG_VERSION") }, 1.0)];
        registry.read("portico_build_info", "The version of the program", Kind::Gauge, built);
        registry.register_process();
        state.requests.register(&mut registry);
        let pool = &state.companies.pool;
        pool.metrics().register(&mut registry);
        let figures = Figures::new(pool, state.clock.clone());
        figures.register(&mut registry);

        let [drivers, vehicles] = state.positions.group_metrics();
        let queues = [("events", state.publishing.group_metrics()), ("callbacks", state.gateways.group_metrics()), drivers, vehicles];
        group_metrics::register(&mut registry, &queues);
        let ([stores, sessions], [gateways, of_company]) = (state.storefront.cache_metrics(), state.gateways.cache_metrics());
        let (keys, endpoints) = (state.companies.cache_metrics(), state.webhooks.cache_metrics());
        cache_metrics::register(&mut registry, &[stores, sessions, keys, gateways, of_company, endpoints]);

        state.storefront.register(&mut registry);
        state.webhooks.register(&mut registry);
        state.gateways.register(&mut registry);
        state.streams.register(&mut registry);
        state.traces.register(&mut registry);
        register_retention(&mut registry, state);
        Self(Arc::new(Inner { registry, figures }))
    }

    /// What there is, for the documentation.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// `GET /metrics`, and nothing else.
    pub fn router(self) -> Router {
        Router::new().route("/metrics", get(show)).fallback(async || Problem::new(ProblemCode::RouteUnknown)).with_state(self)
    }
}

/// Work that this instance has not done yet is absent.
fn register_retention(registry: &mut Registry, state: &AppState) {
    let tasks = [("rows", state.swept.0.clone()), ("partitions", state.webhooks.maintained_at().clone())];
    let done = move || {
        let times = tasks.iter().map(|(task, at)| (TaskLabels { task }, at.get()));
        times.filter(|(_, at)| *at > 0.0).collect()
    };
    registry.read("portico_retention_completed_timestamp_seconds", "When expired data was last removed", Kind::Gauge, done);
}

async fn show(State(metrics): State<Metrics>) -> impl IntoResponse {
    metrics.0.figures.refresh().await;
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], metrics.0.registry.render())
}
