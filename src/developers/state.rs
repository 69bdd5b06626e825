//! The state that all rooms share.

use sqlx::PgPool;

use crate::companies::Companies;
use crate::events::Catalogue;
use crate::kernel::clock::Clock;
use crate::resources::ResourceState;

/// The state of the routes below `developers/int/v1`; those that publish and stream events add their own to it.
#[derive(Clone, Debug)]
pub struct Developers {
    pub(super) pool: PgPool,
    pub(super) clock: Clock,
    /// The cache of API keys, which changes made here must evict.
    companies: Companies,
    /// All event types of this deployment, declared ones included.
    pub catalogue: Catalogue,
}

impl Developers {
    /// `companies` caches the API keys; a change of one evicts them.
    pub fn new(pool: PgPool, clock: Clock, companies: Companies, catalogue: Catalogue) -> Self {
        Self { pool, clock, companies, catalogue }
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
