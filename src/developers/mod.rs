//! Developers: what a company's developers look up (decisions, section 9).
//!
//! Writes nothing. Webhooks and their deliveries stand below the same path and are kept by [`crate::webhooks`].

mod event_types;
mod events;

use axum::extract::FromRef;
use axum::http::Method;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::events::Catalogue;
use crate::kernel::clock::Clock;
use crate::resources::{Extension, Room};

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
pub fn extension<S>() -> Extension<S>
where
    Developers: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("developers")
        .read_only::<events::LoggedEvent>()
        .beside(Method::GET, "/event-types", "List the kinds of events.", event_types::list)
        .beside(Method::GET, "/event-types/{name}", "Find a kind of event.", event_types::find)
}
