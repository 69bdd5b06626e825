//! Vehicles: they carry orders, and have drivers and locations.
//!
//! A vehicle can be assigned to a driver, to a fleet, or to both. A changed location publishes its own event; all other fields
//! share one event. A vehicle with an open order cannot be deleted.

mod changes;
mod vin;

use crate::events::names;
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::fleets::FleetRecord;
use crate::fleet::location;
use crate::fleet::vehicles::vin::Vin;
use crate::kernel::ids::{DriverId, FleetId, VehicleId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Filter, IntegerIn, Line, Link, Meta, Record, RecordTransaction, Resource, Validated};

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
    pub struct Vehicle, body VehicleBody, moving as names::VEHICLE_LOCATION_CHANGED, positions vehicles {
        /// The name that the shop gives the vehicle.
        name: Option<Line<255>>,
        /// The number plate.
        plate_number: Option<Line<20>>,
        /// The type of the vehicle, defined by the shop.
        kind as "type": Option<Line<50>>,
        /// The manufacturer.
        make: Option<Line<100>>,
        /// The manufacturer's name of the model.
        model: Option<Line<100>>,
        /// The model year.
        year: Option<IntegerIn<1886, 2200>>,
        /// The colour.
        color: Option<Line<50>>,
        /// The vehicle identification number (ISO 3779).
        vin: Option<Vin>,
        /// Whether the vehicle can be used.
        status: VehicleStatus,
        /// The driver of the vehicle.
        driver_id as "driver": Option<Link<Driver>>,
        /// The fleet that the vehicle belongs to.
        fleet_id as "fleet": Option<Link<FleetRecord>>,
        /// Whether the vehicle is online, that is, reports its location.
        online: bool,
        /// Free-form data of the shop.
        meta: Meta,
    }
}

impl Resource for Vehicle {
    type Id = VehicleId;
    type State = Fleet;

    const SINGULAR: &'static str = "vehicle";
    const PLURAL: &'static str = "vehicles";
    const FILTERS: &'static [Filter] = &[
        Filter::text_enum::<VehicleStatus>("status"),
        Filter::id::<DriverId>("driver").on("driver_id"),
        Filter::id::<FleetId>("fleet").on("fleet_id"),
        Filter::boolean("online"),
        Filter::text("type").on("kind"),
        Filter::text("plate_number"),
        Filter::text("vin"),
    ];
    const SEARCH: &'static [&'static str] = &["name", "plate_number", "make", "model", "vin"];
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
