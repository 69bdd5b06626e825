//! Developers: a company's API keys, and what its developers look up (decisions, section 9).
//!
//! `api_keys` writes the table of that name, which is [`crate::companies`]'s to believe. [`stream`] tells events as they are committed;
//! [`publishing`] takes events from outside and writes `publishing_keys`. Webhooks and their deliveries stand below the same path and are
//! kept by [`crate::webhooks`].

mod api_keys;
mod event_types;
mod events;
mod publishing;
mod stream;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::routing::{get, post};
use sqlx::PgPool;

use crate::companies::Companies;
use crate::developers::stream::Streams;
use crate::events::Catalogue;
use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::resources::{Room, read_only_routes};

/// What the routes need.
#[derive(Clone, Debug)]
pub struct Developers {
    pool: PgPool,
    clock: Clock,
    /// Every kind of event.
    pub catalogue: Catalogue,
    streams: Streams,
}

impl Developers {
    /// Streams end when `lifecycle` does.
    pub fn new(pool: PgPool, clock: Clock, catalogue: Catalogue, lifecycle: &Lifecycle) -> Self {
        Self { pool, clock, catalogue, streams: Streams::new(lifecycle.clone()) }
    }
}

impl Room for Developers {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// The routes below `developers/int/v1`.
pub fn routes<S>() -> Router<S>
where
    Developers: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    api_keys::routes::<S>()
        .merge(read_only_routes::<events::LoggedEvent, S>())
        .route("/events", post(publishing::publish).layer(DefaultBodyLimit::max(publishing::BODY_LIMIT)))
        .route("/events/stream", get(stream::stream))
        .route("/event-types", get(event_types::list))
        .route("/event-types/{name}", get(event_types::find))
}
