//! The smallest resource there can be, for the tests of the mechanism.

use serde_json::{Map, Value};
use sqlx::PgPool;

use crate::kernel::clock::Clock;
use crate::kernel::ids::VehicleId;
use crate::resources::{Announced, Fields, Filter, Line, Resource, Room, Ruled};

/// A room with nothing but what every room has.
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
        /// What is written on it.
        label: Line<20>,
        /// Whether there is something on it.
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
