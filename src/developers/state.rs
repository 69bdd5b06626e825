//! The state that all rooms share.

use sqlx::PgPool;

use crate::events::Catalogue;
use crate::kernel::clock::Clock;
use crate::resources::ResourceState;

/// The state of the routes.
#[derive(Clone, Debug)]
pub struct Developers {
    pub(super) pool: PgPool,
    pub(super) clock: Clock,
    /// All event types.
    pub catalogue: Catalogue,
}

impl Developers {
    /// Builds the state.
    pub fn new(pool: PgPool, clock: Clock, catalogue: Catalogue) -> Self {
        Self { pool, clock, catalogue }
    }
}

impl ResourceState for Developers {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}
