//! The smallest possible resource, for the tests of this module.

use serde_json::{Map, Value};
use sqlx::PgPool;

use crate::kernel::clock::Clock;
use crate::kernel::ids::VehicleId;
use crate::resources::{Announced, Fields, Filter, Line, Resource, Room, Ruled};

/// A state with only what [`Room`] requires.
#[derive(Clone, Debug)]
pub struct Storage {
    pub(super) pool: PgPool,
    pub(super) clock: Clock,
}

impl Room for Storage {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

crate::fields! {
    /// A shelf with a label.
    pub struct Shelf, sent as ShelfBody {
        /// The label text.
        label: Line<20>,
        /// Whether the shelf holds anything.
        full: Option<bool>,
    }
}

impl Resource for Shelf {
    type Id = VehicleId;
    type Room = Storage;

    const SINGULAR: &'static str = "book_shelf";
    const PLURAL: &'static str = "book_shelves";
    const FILTERS: &'static [Filter] = &[Filter::boolean("full"), Filter::id::<VehicleId>("truck").on("vehicle_id")];
    const SEARCH: &'static [&'static str] = &["label"];

    fn shown(&self) -> Map<String, Value> {
        self.members()
    }
}

impl Announced for Shelf {}

impl Ruled for Shelf {}
