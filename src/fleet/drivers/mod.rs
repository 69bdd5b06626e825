//! Drivers: the people who carry orders, and their locations.
//!
//! A driver has a profile, a location and an online state. Each of the three has its own events, and a change of one publishes no
//! event of the others. [`crate::fleet::positions`] has the fast path for frequent location reports.
//!
//! A driver with an open order cannot be deleted, because a dispatched order must have a driver. A driver with a vehicle cannot be
//! deleted either. Closed orders keep showing their driver.

mod contact;
mod queries;

use crate::callers::Area;
use crate::contact::{EmailAddress, PhoneNumber};
use crate::fleet::Fleet;
use crate::fleet::fleets::FleetRecord;
use crate::fleet::location;
use crate::kernel::ids::{DriverId, FleetId, OrderId};
use crate::kernel::problem::Problem;
use crate::resources::{FieldType, Line, Link, Meta, Record, RecordTransaction, Reference, Resource, Validated};

pub use contact::Contact;
pub use queries::list_contacts;

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
    pub struct Driver, body DriverBody {
        /// The name.
        #[sample = "Ada Lovelace"] #[searched]
        name: Line<255>,
        /// The phone number, in E.164.
        #[sample = "+442071838750"] #[filtered] #[searched]
        phone: Option<PhoneNumber>,
        /// The email address.
        #[sample = "ada@example.com"] #[filtered on "lower(email)"] #[searched]
        email: Option<EmailAddress>,
        /// The number of the driving licence.
        #[sample = "LOVEL810126A99AB"] #[filtered] #[searched]
        license_number: Option<Line<100>>,
        /// Whether the driver works for the shop.
        #[filtered]
        status: DriverStatus,
        /// The fleet that the driver belongs to.
        #[filtered]
        fleet_id as "fleet": Option<Link<FleetRecord>>,
        /// Whether the driver is online and available.
        #[sample = true] #[filtered]
        online: bool,
        /// Free-form data of the shop.
        meta: Meta,
    }
}

crate::events! {
    /// The events about drivers.
    pub const EVENTS {
        /// New driver added.
        CREATED = "driver.created", |driver| driver.with("online", false);
        /// Driver's profile or status changed.
        UPDATED = "driver.updated";
        /// Driver assigned to an order or fleet.
        ASSIGNED = "driver.assigned", |driver| driver
            .may_add("order", "The order that the driver was assigned to.", Reference::<OrderId>::schema(), Reference::<OrderId>::sample())
            .may_add("fleet", "The fleet that the driver was assigned to.", Reference::<FleetId>::schema(), ());
        /// Driver's GPS coordinates updated.
        LOCATION_CHANGED = "driver.location_changed";
        /// Driver went online and is available.
        ONLINE = "driver.online", |driver| driver.always("online", true);
        /// Driver went offline.
        OFFLINE = "driver.offline", |driver| driver.always("online", false);
        /// Driver removed.
        DELETED = "driver.deleted", |driver| driver.with("online", false);
    }
}

impl Resource for Driver {
    type Id = DriverId;
    type State = Fleet;

    const SINGULAR: &'static str = "driver";
    const PLURAL: &'static str = "drivers";
    const AREA: Area = Area::Business;
}

impl Validated for Driver {
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, driver: &mut Self) -> Result<(), Problem> {
        location::settle(before.map(|before| &before.fields), driver, transaction.now)
    }
}
