//! Developers: what a company's developers look up (decisions, section 9).
//!
//! Writes nothing. Webhooks and their deliveries stand below the same path and are kept by [`crate::webhooks`].

mod event_types;
mod events;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::get;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::events::Catalogue;
use crate::kernel::clock::Clock;
use crate::resources::{Room, read_only_routes};

/// What the routes need.
#[derive(Clone, Debug)]
pub struct Developers {
    /// The database.
    pub pool: PgPool,
    /// The time.
    pub clock: Clock,
    /// Every kind of event.
    pub catalogue: Catalogue,
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
    read_only_routes::<events::LoggedEvent, S>()
        .route("/event-types", get(event_types::list))
        .route("/event-types/{name}", get(event_types::find))
}
