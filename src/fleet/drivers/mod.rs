//! Drivers: the people who carry orders, and where they are.
//!
//! A driver has a profile, a location and is online or not; each of the three has events of its own, and a change of one says nothing
//! of the others. Where many drivers report at once, [`crate::fleet::location`] is the quick way in.
//!
//! A driver who serves an open order cannot be deleted: a dispatched order without a driver would be nobody's. Neither can one who has
//! a vehicle. Closed orders go on showing who carried them.

mod changes;

use serde_json::{Map, Value};

use crate::contact::{EmailAddress, PhoneNumber};
use crate::events::names;
use crate::fleet::Fleet;
use crate::fleet::fleets::FleetRecord;
use crate::fleet::location;
use crate::kernel::ids::{DriverId, FleetId};
use crate::kernel::problem::Problem;
use crate::resources::{Edit, Fields, Filter, Line, Link, Meta, Record, Resource, Ruled};

crate::words! {
    /// Whether a driver works for the shop.
    pub enum DriverStatus, initially Active {
        /// They do.
        Active = "active",
        /// Not at present.
        Inactive = "inactive",
    }
}

location::located! {
    /// A driver.
    pub struct Driver, sent as DriverBody, moving as names::DRIVER_LOCATION_CHANGED {
        /// What they are called.
        name: Line<255>,
        /// Where they are reached, in E.164.
        phone: Option<PhoneNumber>,
        /// Where they are written to.
        email: Option<EmailAddress>,
        /// What allows them to drive.
        license_number: Option<Line<100>>,
        /// Whether they work for the shop.
        status: DriverStatus,
        /// The fleet they belong to.
        fleet_id as "fleet": Option<Link<FleetRecord>>,
        /// They are available.
        online: bool,
        /// What the shop keeps with them.
        meta: Meta,
    }
}

impl Resource for Driver {
    type Id = DriverId;
    type Room = Fleet;

    const SINGULAR: &'static str = "driver";
    const PLURAL: &'static str = "drivers";
    const FILTERS: &'static [Filter] = &[
        Filter::boolean("online"),
        Filter::word::<DriverStatus>("status"),
        Filter::id::<FleetId>("fleet").on("fleet_id"),
        Filter::text("phone"),
        Filter::text("email"),
        Filter::text("license_number"),
    ];
    const SEARCH: &'static [&'static str] = &["name", "phone", "email", "license_number"];

    fn shown(&self) -> Map<String, Value> {
        self.members()
    }
}

impl Ruled for Driver {
    async fn rules(edit: &mut Edit<Fleet>, before: Option<&Record<Self>>, driver: &mut Self) -> Result<(), Problem> {
        location::settle(before.map(|before| &before.fields), driver, edit.now)
    }
}
