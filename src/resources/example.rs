//! The smallest resource there can be, for the tests of the mechanism.

use std::future::ready;

use serde::Deserialize;
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};

use crate::events::EventName;
use crate::kernel::clock::Clock;
use crate::kernel::ids::VehicleId;
use crate::kernel::problem::Problem;
use crate::members;
use crate::resources::{Announced, Change, Edit, Editable, Filter, Line, Member, New, Record, Resource, Room};

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

crate::columns! {
    /// A shelf with a label.
    #[derive(Default)]
    pub struct Shelf {
        /// What is written on it.
        pub label: String,
        /// Whether there is something on it.
        pub full: Option<bool>,
    }
}

impl Resource for Shelf {
    type Id = VehicleId;
    type Room = Storage;

    const SINGULAR: &'static str = "book_shelf";
    const PLURAL: &'static str = "book_shelves";
    const FILTERS: &'static [Filter] = &[Filter::boolean("full"), Filter::id::<VehicleId>("truck").on("vehicle_id")];
    const SEARCH: &'static [&'static str] = &["label"];

    fn present(
        _: &mut PgConnection,
        shelves: &[Record<Self>],
    ) -> impl Future<Output = Result<Vec<Map<String, Value>>, sqlx::Error>> + Send {
        let present = |shelf: &Record<Self>| members! { "label": shelf.fields.label };
        ready(Ok(shelves.iter().map(present).collect()))
    }
}

impl Announced for Shelf {
    fn events(_: &Change<'_, Self>) -> Vec<EventName> {
        Vec::new()
    }
}

/// What is sent of a shelf.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShelfBody {
    label: Member<Line<20>>,
    full: Member<Option<bool>>,
}

impl ShelfBody {
    fn put(self, shelf: &mut Shelf) {
        self.label.put(&mut shelf.label);
        self.full.put_or_clear(&mut shelf.full);
    }
}

impl Editable for Shelf {
    type Body = ShelfBody;

    async fn create(_: &mut Edit<Storage>, _: VehicleId, body: ShelfBody) -> Result<New<Self>, Problem> {
        let mut shelf = Self::default();
        body.put(&mut shelf);
        Ok(shelf.into())
    }

    async fn change(_: &mut Edit<Storage>, before: &Record<Self>, body: ShelfBody) -> Result<Self, Problem> {
        let mut shelf = before.fields.clone();
        body.put(&mut shelf);
        Ok(shelf)
    }
}
