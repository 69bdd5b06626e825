//! All metrics of an instance in one registry, and `GET /metrics`, which writes them.
//!
//! They have a listener of their own, so that whoever reaches the service does not reach them.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use futures::future::join_all;

use crate::app::figures::Figures;
use crate::app::{AppState, Cells};
use crate::kernel::database::{self, CellName};
use crate::kernel::metrics::{Description, Kind, MEDIA_TYPE, Registry, Seconds, joined};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::routing::get;
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
    /// Of what the process has once.
    process: Registry,
    cells: Vec<OfCell>,
}

#[derive(Debug)]
struct OfCell {
    /// The value of the label `cell`, if there are several.
    name: Option<CellName>,
    registry: Registry,
    figures: Figures,
}

impl Metrics {
    /// Has every part of every cell register its metrics.
    pub fn new(cells: impl Into<Cells>) -> Self {
        let cells = cells.into();
        let mut process = Registry::default();
        let built = || vec![(BuildLabels { version: env!("CARGO_PKG_VERSION") }, 1.0)];
        process.read("portico_build_info", "The version of the program", Kind::Gauge, built);
        process.register_process();
        let first = &cells.first().state;
        first.requests.register(&mut process);
        first.traces.register(&mut process);
        let of_each = cells.iter().map(|cell| OfCell::new(Some(cell.name.clone()).filter(|_| cells.are_several()), &cell.state));
        Self(Arc::new(Inner { process, cells: of_each.collect() }))
    }

    /// What there is, for the documentation.
    pub fn descriptions(&self) -> Vec<Description> {
        let of_cell = self.0.cells.first().map(|cell| cell.registry.descriptions());
        self.0.process.descriptions().iter().chain(of_cell.into_iter().flatten()).cloned().collect()
    }

    /// All series, in the text format of OpenMetrics.
    pub fn render(&self) -> String {
        let process = (None, self.0.process.render());
        let cells = self.0.cells.iter().map(|cell| (cell.name.as_ref().map(|name| ("cell", name.as_str())), cell.registry.render()));
        joined(&std::iter::once(process).chain(cells).collect::<Vec<_>>())
    }

    /// `GET /metrics`, and nothing else.
    pub fn router(self) -> Router {
        Router::new().route("/metrics", get(show)).fallback(async || Problem::new(ProblemCode::RouteUnknown)).with_state(self)
    }
}

impl OfCell {
    fn new(name: Option<CellName>, state: &AppState) -> Self {
        let mut registry = Registry::default();
        let pool = &state.companies.pool;
        pool.metrics().register(&mut registry);
        database::register_replica(&mut registry, pool.replica());
        let figures = Figures::new(pool, state.clock.clone());
        figures.register(&mut registry);

        let [drivers, vehicles] = state.positions.group_metrics();
        let [events, callbacks] = [state.publishing.group_metrics(), state.gateways.group_metrics()];
        let [texts, sessions] = state.storefront.group_metrics();
        let queues = [("events", events), ("callbacks", callbacks), texts, sessions, drivers, vehicles];
        group_metrics::register(&mut registry, &queues);
        let ([stores, sessions], [gateways, of_company]) = (state.storefront.cache_metrics(), state.gateways.cache_metrics());
        let (keys, endpoints) = (state.companies.cache_metrics(), state.webhooks.cache_metrics());
        cache_metrics::register(&mut registry, &[stores, sessions, keys, gateways, of_company, endpoints]);

        state.storefront.register(&mut registry);
        state.webhooks.register(&mut registry);
        state.gateways.register(&mut registry);
        state.streams.register(&mut registry);
        register_retention(&mut registry, state);
        Self { name, registry, figures }
    }
}

/// Work that this instance has not done yet counts as done when the instance began: that it is never done must be seen, too.
fn register_retention(registry: &mut Registry, state: &AppState) {
    let tasks = [("rows", state.swept.0.clone()), ("partitions", state.webhooks.maintained_at().clone())];
    let began = state.clock.now().timestamp() as f64;
    let done = move || tasks.iter().map(|(task, at)| (TaskLabels { task }, at.get().max(began))).collect();
    registry.read("portico_retention_completed_timestamp_seconds", "When expired data was last removed", Kind::Gauge, done);
}

async fn show(State(metrics): State<Metrics>) -> impl IntoResponse {
    // At once: a database that is away costs the others nothing.
    join_all(metrics.0.cells.iter().map(|cell| cell.figures.refresh())).await;
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], metrics.render())
}
