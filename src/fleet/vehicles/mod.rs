//! Vehicles: they carry orders, and have drivers and locations.
//!
//! A vehicle can be assigned to a driver, to a fleet, or to both. A changed location publishes its own event; all other fields
//! share one event. A vehicle with an open order cannot be deleted.

mod vin;

use crate::callers::Area;
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::fleets::FleetRecord;
use crate::fleet::location;
use crate::fleet::vehicles::vin::Vin;
use crate::kernel::ids::{DriverId, FleetId, VehicleId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{FieldType, IntegerIn, Line, Link, Meta, Record, RecordTransaction, Reference, Resource, Validated};

crate::text_enum! {
    /// Whether a vehicle can be used.
    pub enum VehicleStatus, default Active {
        /// The vehicle can be used.
        Active = "active",
        /// The vehicle is under maintenance.
        Maintenance = "maintenance",
        /// The vehicle cannot be used until further notice.
        OutOfService = "out_of_service",
        /// The vehicle will not be used again.
        Retired = "retired",
    }
}

location::located! {
    /// A vehicle.
    pub struct Vehicle, body VehicleBody {
        /// The name that the shop gives the vehicle.
        #[sample = "Van 7"] #[searched]
        name: Option<Line<255>>,
        /// The number plate.
        #[sample = "LD71 VAN"] #[filtered] #[searched]
        plate_number: Option<Line<20>>,
        /// The type of the vehicle, defined by the shop.
        #[sample = "van"] #[filtered]
        kind as "type": Option<Line<50>>,
        /// The manufacturer.
        #[sample = "Volt"] #[searched]
        make: Option<Line<100>>,
        /// The manufacturer's name of the model.
        #[sample = "Carrier"] #[searched]
        model: Option<Line<100>>,
        /// The model year.
        #[sample = 2024]
        year: Option<IntegerIn<1886, 2200>>,
        /// The colour.
        #[sample = "white"]
        color: Option<Line<50>>,
        /// The vehicle identification number (ISO 3779).
        #[sample = "1HGCM82633A004352"] #[filtered] #[searched]
        vin: Option<Vin>,
        /// Whether the vehicle can be used.
        #[filtered]
        status: VehicleStatus,
        /// The driver of the vehicle.
        #[sample = "driver_01h455vb4pex5vsknk084sn02q"] #[filtered]
        driver_id as "driver": Option<Link<Driver>>,
        /// The fleet that the vehicle belongs to.
        #[sample = "fleet_01h455vb4pex5vsknk084sn02q"] #[filtered]
        fleet_id as "fleet": Option<Link<FleetRecord>>,
        /// Whether the vehicle is online, that is, reports its location.
        #[sample = true] #[filtered]
        online: bool,
        /// Free-form data of the shop.
        meta: Meta,
    }
}

crate::events! {
    /// The events about vehicles.
    pub const EVENTS {
        /// New vehicle added.
        CREATED = "vehicle.created";
        /// Vehicle's details or status changed.
        UPDATED = "vehicle.updated";
        /// Vehicle assigned to a driver or fleet.
        ASSIGNED = "vehicle.assigned", |vehicle| vehicle
            .may_add("driver", "The driver that the vehicle was assigned to.", Reference::<DriverId>::schema(), Reference::<DriverId>::sample())
            .may_add("fleet", "The fleet that the vehicle was assigned to.", Reference::<FleetId>::schema(), ());
        /// Vehicle's GPS coordinates updated.
        LOCATION_CHANGED = "vehicle.location_changed";
        /// Vehicle removed.
        DELETED = "vehicle.deleted";
    }
}

impl Resource for Vehicle {
    type Id = VehicleId;
    type State = Fleet;

    const SINGULAR: &'static str = "vehicle";
    const PLURAL: &'static str = "vehicles";
    const AREA: Area = Area::Business;
}

impl Validated for Vehicle {
    async fn validate(
        transaction: &mut RecordTransaction<Fleet>,
        before: Option<&Record<Self>>,
        vehicle: &mut Self,
    ) -> Result<(), Problem> {
        if vehicle.name.is_none() && vehicle.plate_number.is_none() {
            return Err(FieldErrors::one("name", "A vehicle needs a name or a plate number."));
        }
        location::settle(before.map(|before| &before.fields), vehicle, transaction.now)
    }
}
