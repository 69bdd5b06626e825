//! What the routes of the fleet need.

use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::resources::ResourceState;

/// The state of the fleet's routes.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The database.
    pub pool: Pool,
    /// The clock.
    pub clock: Clock,
}

impl ResourceState for Fleet {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}
