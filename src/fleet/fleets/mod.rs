//! Fleets: groups of drivers and vehicles, which may be parts of larger fleets.
//!
//! A driver or vehicle names the fleet it belongs to (`PUT drivers/{uuid}` with `fleet`); `GET drivers?fleet=…` lists the drivers
//! of a fleet. A fleet that still has drivers, vehicles or parts cannot be deleted, because these would reference a deleted fleet.

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
    Change, Columns, FieldDoc, Filter, Line, Link, Meta, Presented, PublishesEvents, Record, RecordTransaction, ReferencedBy, Resource,
    Text, Validated,
};

crate::text_enum! {
    /// Whether a fleet is in operation.
    pub enum FleetStatus, default Active {
        /// The fleet is in operation.
        Active = "active",
        /// The fleet is not in operation at present.
        Inactive = "inactive",
    }
}

crate::fields! {
    /// A fleet. [`Fleet`] is the state of the whole module.
    pub struct FleetRecord, body FleetBody {
        /// The name.
        name: Line<255>,
        /// A description of the fleet.
        description: Option<Text<2000>>,
        /// Whether the fleet is in operation.
        status: FleetStatus,
        /// The larger fleet that it is a part of.
        parent_id as "parent": Option<Link<FleetRecord>>,
        /// Free-form data of the shop.
        meta: Meta,
    }
}

impl Resource for FleetRecord {
    type Id = FleetId;
    type State = Fleet;

    const SINGULAR: &'static str = "fleet";
    const PLURAL: &'static str = "fleets";
    const FILTERS: &'static [Filter] = &[Filter::text_enum::<FleetStatus>("status"), Filter::id::<FleetId>("parent").on("parent_id")];
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

    fn read_only_fields() -> Vec<FieldDoc> {
        vec![
            FieldDoc::read_only::<i64>("drivers_count", "The number of drivers in the fleet."),
            FieldDoc::read_only::<i64>("vehicles_count", "The number of vehicles in the fleet."),
        ]
    }
}

impl PublishesEvents for FleetRecord {
    const REFERENCED_BY: &'static [ReferencedBy] = &[
        ReferencedBy::new::<Driver>("fleet_id", "Drivers belong to the fleet. Assign them to another fleet, or none, first."),
        ReferencedBy::new::<Vehicle>("fleet_id", "Vehicles belong to the fleet. Assign them to another fleet, or none, first."),
        ReferencedBy::new::<FleetRecord>("parent_id", "Other fleets are parts of this one. Assign them to another parent, or none, first."),
    ];

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        vec![match change {
            Change::Created(_) => names::FLEET_CREATED,
            Change::Updated(..) => names::FLEET_UPDATED,
            Change::Deleted(_) => names::FLEET_DELETED,
        }]
    }
}

impl Validated for FleetRecord {
    /// A fleet must not be its own ancestor.
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, fleet: &mut Self) -> Result<(), Problem> {
        let (Some(before), Some(parent)) = (before, fleet.parent_id) else { return Ok(()) };
        match queries::leads_up_to(transaction.conn(), parent, before.id).await? {
            true => Err(FieldErrors::one("parent", "A fleet cannot be a part of itself.")),
            false => Ok(()),
        }
    }
}
