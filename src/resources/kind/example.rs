//! The smallest possible resource, for the tests of this module.

use crate::callers::Area;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::ids::VehicleId;
use crate::resources::{Line, PublishesEvents, Reference, Resource, ResourceState, Validated};

/// A state with only what [`ResourceState`] requires.
#[derive(Clone, Debug)]
pub struct Storage {
    pub pool: Pool,
    pub clock: Clock,
}

impl ResourceState for Storage {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

crate::fields! {
    /// A shelf with a label.
    pub struct Shelf, body ShelfBody {
        /// The label text.
        #[searched]
        label: Line<20>,
        /// Whether the shelf holds anything.
        #[filtered]
        full: Option<bool>,
        /// The vehicle that carries the shelf.
        #[filtered as "truck"]
        vehicle_id as "vehicle": Option<Reference<VehicleId>>,
    }
}

impl Resource for Shelf {
    type Id = VehicleId;
    type State = Storage;

    const SINGULAR: &'static str = "book_shelf";
    const PLURAL: &'static str = "book_shelves";
    const AREA: Area = Area::Business;
}

impl PublishesEvents for Shelf {}

impl Validated for Shelf {}
