//! The declared kinds with their pool.

use std::sync::Arc;

use crate::declared::Declaration;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::resources::ResourceState;

/// The kinds that the files declare, with the database that their records are in.
#[derive(Clone, Debug)]
pub struct Declared {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) kinds: Arc<[Arc<Declaration>]>,
    /// The kinds without a file that may have records.
    pub(super) retired: Vec<String>,
}

/// The state of one declared kind.
#[derive(Clone, Debug)]
pub struct DeclaredState {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) declaration: Arc<Declaration>,
}

impl ResourceState for DeclaredState {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl Declared {
    /// Does not use the database yet: [`Declared::take_schemas`] stores the schemas. `retired` are the kinds of
    /// [`Settings::retired`](crate::declared::Settings::retired).
    pub fn new(pool: Pool, clock: Clock, kinds: Arc<[Arc<Declaration>]>, retired: &[String]) -> Self {
        Self { pool, clock, kinds, retired: retired.to_vec() }
    }
}
