//! Fleets: groups of drivers and vehicles, which may be parts of larger ones.
//!
//! A driver or vehicle says which fleet it belongs to (`PUT drivers/{uuid}` with `fleet`); the list of a fleet's members is
//! `GET drivers?fleet=…`. A fleet that still has members or parts cannot be deleted: they would be nobody's.

mod queries;

use sqlx::PgConnection;

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::ids::FleetId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::members;
use crate::resources::{
    Announced, Change, Described, Edit, Fields, Filter, Line, Link, Meta, NeededBy, Presented, Record, Resource, Ruled, Text,
};

crate::words! {
    /// Whether a fleet is out on the roads.
    pub enum FleetStatus, initially Active {
        /// It is.
        Active = "active",
        /// Not at present.
        Inactive = "inactive",
    }
}

crate::fields! {
    /// A fleet; [`Fleet`] is the room of all of them.
    pub struct FleetRecord, sent as FleetBody {
        /// What it is called.
        name: Line<255>,
        /// What it is for.
        description: Option<Text<2000>>,
        /// Whether it is out on the roads.
        status: FleetStatus,
        /// The larger fleet it is a part of.
        parent_id as "parent": Option<Link<FleetRecord>>,
        /// What the shop keeps with it.
        meta: Meta,
    }
}

impl Resource for FleetRecord {
    type Id = FleetId;
    type Room = Fleet;

    const SINGULAR: &'static str = "fleet";
    const PLURAL: &'static str = "fleets";
    const FILTERS: &'static [Filter] = &[Filter::word::<FleetStatus>("status"), Filter::id::<FleetId>("parent").on("parent_id")];
    const SEARCH: &'static [&'static str] = &["name", "description"];

    async fn present(conn: &mut PgConnection, fleets: &[Record<Self>]) -> Presented {
        let ids: Vec<_> = fleets.iter().map(|fleet| fleet.id.uuid()).collect();
        let mut counts = queries::count_members(conn, &ids).await?;
        let shown = fleets.iter().map(|fleet| {
            let count = counts.remove(&fleet.id).unwrap_or_default();
            let mut shown = fleet.fields.members();
            shown.extend(members! { "drivers_count": count.drivers, "vehicles_count": count.vehicles });
            shown
        });
        Ok(shown.collect())
    }

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::shown::<i64>("drivers_count", "Drivers who belong to it."),
            Described::shown::<i64>("vehicles_count", "Vehicles that belong to it."),
        ]
    }
}

impl Announced for FleetRecord {
    const NEEDED_BY: &'static [NeededBy] = &[
        NeededBy::each::<Driver>("fleet_id", "Drivers belong to the fleet; they need another fleet, or none, first."),
        NeededBy::each::<Vehicle>("fleet_id", "Vehicles belong to the fleet; they need another fleet, or none, first."),
        NeededBy::each::<FleetRecord>("parent_id", "Other fleets are parts of this one; they need another parent, or none, first."),
    ];

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        vec![match change {
            Change::Created(_) => names::FLEET_CREATED,
            Change::Updated(..) => names::FLEET_UPDATED,
            Change::Deleted(_) => names::FLEET_DELETED,
        }]
    }
}

impl Ruled for FleetRecord {
    /// The way up from a fleet never leads back to it.
    async fn rules(edit: &mut Edit<Fleet>, before: Option<&Record<Self>>, fleet: &mut Self) -> Result<(), Problem> {
        let (Some(before), Some(parent)) = (before, fleet.parent_id) else { return Ok(()) };
        match queries::leads_up_to(edit.conn(), parent, before.id).await? {
            true => Err(FieldErrors::one("parent", "A fleet cannot be a part of itself.")),
            false => Ok(()),
        }
    }
}
