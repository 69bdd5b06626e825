//! What the routes of the fleet need.

use sqlx::PgPool;

use crate::kernel::clock::Clock;
use crate::resources::ResourceState;

/// The state of the fleet's routes.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The database.
    pub pool: PgPool,
    /// The clock.
    pub clock: Clock,
}

impl ResourceState for Fleet {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}
