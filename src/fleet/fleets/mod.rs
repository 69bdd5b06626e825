//! Fleets: groups of drivers and vehicles, which may be parts of larger fleets.
//!
//! A driver or vehicle names the fleet it belongs to (`PUT drivers/{uuid}` with `fleet`); `GET drivers?fleet=…` lists the drivers
//! of a fleet. A fleet that still has drivers, vehicles or parts cannot be deleted, because these would reference a deleted fleet.

mod queries;

use crate::callers::Area;
use crate::companies;
use crate::fleet::Fleet;
use crate::kernel::database::Connection;
use crate::kernel::ids::FleetId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::members;
use crate::resources::{Columns, Count, Line, Link, Meta, Presented, Record, RecordTransaction, Resource, Text, Validated};

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
    /// A fleet.
    pub struct FleetRecord, body FleetBody {
        /// The name.
        #[sample = "North"] #[searched]
        name: Line<255>,
        /// A description of the fleet.
        #[sample = "Everything north of the river."] #[searched]
        description: Option<Text<2000>>,
        /// Whether the fleet is in operation.
        #[filtered]
        status: FleetStatus,
        /// The larger fleet that it is a part of.
        #[filtered]
        parent_id as "parent": Option<Link<FleetRecord>>,
        /// Free-form data of the shop.
        meta: Meta,
    }
    computed {
        /// The number of drivers in the fleet.
        #[sample = 12]
        drivers_count: Count,
        /// The number of vehicles in the fleet.
        #[sample = 7]
        vehicles_count: Count,
    }
}

crate::events! {
    /// The events about fleets.
    pub const EVENTS {
        /// New fleet formed.
        CREATED = "fleet.created", |fleet| fleet.with("drivers_count", 0).with("vehicles_count", 0);
        /// Fleet changed.
        UPDATED = "fleet.updated";
        /// Fleet dissolved.
        DELETED = "fleet.deleted", |fleet| fleet.with("drivers_count", 0).with("vehicles_count", 0);
    }
}

impl Resource for FleetRecord {
    type Id = FleetId;
    type State = Fleet;

    const SINGULAR: &'static str = "fleet";
    const PLURAL: &'static str = "fleets";
    const AREA: Area = Area::Business;

    async fn present(conn: &mut Connection, fleets: &[Record<Self>]) -> Presented {
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
}

impl Validated for FleetRecord {
    /// A fleet must not be its own ancestor. Changes of one company's tree wait for each other, so that two concurrent changes, each
    /// valid on its own, cannot create a cycle.
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, fleet: &mut Self) -> Result<(), Problem> {
        let (Some(before), Some(parent)) = (before, fleet.parent_id) else { return Ok(()) };
        let company = transaction.caller.company;
        companies::lock(transaction.conn(), company).await?;
        match queries::leads_up_to(transaction.conn(), parent, before.id).await? {
            true => Err(FieldErrors::one("parent", "A fleet cannot be a part of itself.")),
            false => Ok(()),
        }
    }
}
