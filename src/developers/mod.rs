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
use crate::developers::publishing::Singles;
use crate::developers::stream::Streams;
use crate::events::{Catalogue, News};
use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::resources::{Extension, Room};

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
    singles: Singles,
}

impl Developers {
    /// Builds the state. Streams end when `lifecycle` ends.
    pub fn new(
        pool: PgPool,
        clock: Clock,
        companies: Companies,
        catalogue: Catalogue,
        news: News,
        streams: StreamsSettings,
        lifecycle: &Lifecycle,
    ) -> Self {
        let singles = publishing::singles(&pool, &clock, news, lifecycle);
        Self { pool, clock, companies, catalogue, streams: Streams::new(streams, lifecycle.clone()), singles }
    }
}

impl Room for Developers {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn forget_what_changed(&self) {
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
        .beside(Method::POST, "/events", "Publish one event, or many.", publish)
        .beside_asking(Method::GET, "/events/stream", "Read events along, as they happen.", stream::PARAMETERS, stream::stream)
        .beside(Method::GET, "/event-types", "List the kinds of events.", event_types::list)
        .beside(Method::GET, "/event-types/{name}", "Find a kind of event.", event_types::find)
}
