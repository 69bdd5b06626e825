//! The state that all rooms share.

use crate::events::Catalogue;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::resources::ResourceState;

/// The state of the routes below `developers/int/v1`; those that publish and stream events add their own to it.
#[derive(Clone, Debug)]
pub struct Developers {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    /// All event types of this deployment, declared ones included.
    pub catalogue: Catalogue,
}

impl Developers {
    /// `catalogue` has the event types of this deployment.
    pub fn new(pool: Pool, clock: Clock, catalogue: Catalogue) -> Self {
        Self { pool, clock, catalogue }
    }
}

impl ResourceState for Developers {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}
