//! The developer API: a company's API keys, its event log and its event types (`docs/specification/decisions.md`, section 9).
//!
//! `api_keys` writes the table of that name, which [`crate::companies`] reads to authenticate requests. [`stream`] sends events to
//! clients as they are committed. [`publishing`] accepts events from clients and writes `publishing_keys`. Webhooks and their
//! deliveries have the same base path but belong to [`crate::webhooks`].

mod api_keys;
mod event_types;
mod events;
mod publishing;
mod stream;

use axum::extract::{DefaultBodyLimit, FromRef};
use axum::handler::Handler;
use axum::http::Method;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::developers::publishing::SinglePublisher;
use crate::developers::stream::Streams;
use crate::events::{Catalogue, CommitNotifier};
use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Extension, ResourceState};

pub use stream::Settings as StreamsSettings;

/// The state of the routes.
#[derive(Clone, Debug)]
pub struct Developers {
    pool: PgPool,
    clock: Clock,
    /// The cache of API keys, which changes made here must evict.
    companies: Companies,
    /// All event types.
    pub catalogue: Catalogue,
    streams: Streams,
    /// Publishes single events in groups.
    single_publisher: SinglePublisher,
}

impl Developers {
    /// Builds the state. Streams end when `lifecycle` ends.
    pub fn new(
        pool: PgPool,
        clock: Clock,
        companies: Companies,
        catalogue: Catalogue,
        notifier: CommitNotifier,
        streams: StreamsSettings,
        lifecycle: &Lifecycle,
    ) -> Self {
        let single_publisher = publishing::single_publisher(&pool, &clock, notifier, lifecycle);
        Self { pool, clock, companies, catalogue, streams: Streams::new(streams, lifecycle.clone()), single_publisher }
    }
}

impl ResourceState for Developers {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn invalidate_caches(&self) {
        self.companies.forget_keys();
    }
}

/// The routes below `developers/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Developers: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    let publish = publishing::publish.layer(DefaultBodyLimit::max(publishing::BODY_LIMIT));
    api_keys::extension()
        .read_only::<events::LoggedEvent>()
        .route(Method::POST, "/events", publishing::doc(), publish)
        .route(Method::GET, "/events/stream", stream::doc(), stream::stream)
        .route(Method::GET, "/event-types", event_types::list_doc(), event_types::list)
        .route(Method::GET, "/event-types/{name}", event_types::find_doc(), event_types::find)
}

/// The error for an invalid query parameter.
fn parameter_invalid(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::ParameterInvalid).detail(detail)
}
