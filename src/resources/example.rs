//! The smallest resource there can be, for the tests of the mechanism.

use sqlx::{PgConnection, PgPool};

use crate::events::EventName;
use crate::kernel::clock::Clock;
use crate::kernel::ids::VehicleId;
use crate::resources::{Announced, Change, Filter, Line, Presented, Record, Resource, Room, Ruled, own_members};

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

    async fn present(_: &mut PgConnection, shelves: &[Record<Self>]) -> Presented {
        Ok(own_members(shelves))
    }
}

impl Announced for Shelf {
    fn events(_: &Change<'_, Self>) -> Vec<EventName> {
        Vec::new()
    }
}

impl Ruled for Shelf {}
