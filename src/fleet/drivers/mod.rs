//! Drivers: the people who carry orders, and their locations.
//!
//! A driver has a profile, a location and an online state. Each of the three has its own events, and a change of one publishes no
//! event of the others. [`crate::fleet::location`] has the fast path for frequent location reports.
//!
//! A driver with an open order cannot be deleted, because a dispatched order must have a driver. A driver with a vehicle cannot be
//! deleted either. Closed orders keep showing their driver.

mod changes;

use crate::contact::{EmailAddress, PhoneNumber};
use crate::events::names;
use crate::fleet::Fleet;
use crate::fleet::fleets::FleetRecord;
use crate::fleet::location;
use crate::kernel::ids::{DriverId, FleetId};
use crate::kernel::problem::Problem;
use crate::resources::{Filter, Line, Link, Meta, Record, RecordTransaction, Resource, Validated};

crate::text_enum! {
    /// Whether a driver works for the shop.
    pub enum DriverStatus, default Active {
        /// The driver works for the shop.
        Active = "active",
        /// The driver does not work for the shop at present.
        Inactive = "inactive",
    }
}

location::located! {
    /// A driver.
    pub struct Driver, body DriverBody, moving as names::DRIVER_LOCATION_CHANGED, positions drivers {
        /// The name.
        name: Line<255>,
        /// The phone number, in E.164.
        phone: Option<PhoneNumber>,
        /// The email address.
        email: Option<EmailAddress>,
        /// The number of the driving licence.
        license_number: Option<Line<100>>,
        /// Whether the driver works for the shop.
        status: DriverStatus,
        /// The fleet that the driver belongs to.
        fleet_id as "fleet": Option<Link<FleetRecord>>,
        /// Whether the driver is online and available.
        online: bool,
        /// Free-form data of the shop.
        meta: Meta,
    }
}

impl Resource for Driver {
    type Id = DriverId;
    type State = Fleet;

    const SINGULAR: &'static str = "driver";
    const PLURAL: &'static str = "drivers";
    const FILTERS: &'static [Filter] = &[
        Filter::boolean("online"),
        Filter::text_enum::<DriverStatus>("status"),
        Filter::id::<FleetId>("fleet").on("fleet_id"),
        Filter::text("phone"),
        Filter::text("email"),
        Filter::text("license_number"),
    ];
    const SEARCH: &'static [&'static str] = &["name", "phone", "email", "license_number"];
}

impl Validated for Driver {
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, driver: &mut Self) -> Result<(), Problem> {
        location::settle(before.map(|before| &before.fields), driver, transaction.now)
    }
}
