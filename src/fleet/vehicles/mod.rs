//! Vehicles: what orders are carried in, who drives them, and where they are.
//!
//! A vehicle is assigned to a driver, to a fleet, or to both. Its location has an event of its own; everything else of it is its details.
//! A vehicle that carries an open order cannot be deleted.

mod changes;
mod vin;

use serde_json::{Map, Value};

use crate::events::names;
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::fleets::FleetRecord;
use crate::fleet::location;
use crate::fleet::vehicles::vin::Vin;
use crate::kernel::ids::{DriverId, FleetId, VehicleId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Edit, Fields, Filter, Line, Link, Meta, Record, Resource, Ruled, Whole};

crate::words! {
    /// Whether a vehicle can be used.
    pub enum VehicleStatus, initially Active {
        /// It can.
        Active = "active",
        /// It is being looked after.
        Maintenance = "maintenance",
        /// It cannot, until somebody says otherwise.
        OutOfService = "out_of_service",
        /// It will not be used again.
        Retired = "retired",
    }
}

location::located! {
    /// A vehicle.
    pub struct Vehicle, sent as VehicleBody, moving as names::VEHICLE_LOCATION_CHANGED {
        /// What the shop calls it.
        name: Option<Line<255>>,
        /// What stands on its plate.
        plate_number: Option<Line<20>>,
        /// What kind of vehicle it is, in the shop's own words.
        kind as "type": Option<Line<50>>,
        /// Who built it.
        make: Option<Line<100>>,
        /// What its maker calls it.
        model: Option<Line<100>>,
        /// The year of its model.
        year: Option<Whole<1886, 2200>>,
        /// Its colour.
        color: Option<Line<50>>,
        /// Its identification number (ISO 3779).
        vin: Option<Vin>,
        /// Whether it can be used.
        status: VehicleStatus,
        /// Who drives it.
        driver_id as "driver": Option<Link<Driver>>,
        /// The fleet it belongs to.
        fleet_id as "fleet": Option<Link<FleetRecord>>,
        /// It reports where it is.
        online: bool,
        /// What the shop keeps with it.
        meta: Meta,
    }
}

impl Resource for Vehicle {
    type Id = VehicleId;
    type Room = Fleet;

    const SINGULAR: &'static str = "vehicle";
    const PLURAL: &'static str = "vehicles";
    const FILTERS: &'static [Filter] = &[
        Filter::word::<VehicleStatus>("status"),
        Filter::id::<DriverId>("driver").on("driver_id"),
        Filter::id::<FleetId>("fleet").on("fleet_id"),
        Filter::boolean("online"),
        Filter::text("type").on("kind"),
        Filter::text("plate_number"),
        Filter::text("vin"),
    ];
    const SEARCH: &'static [&'static str] = &["name", "plate_number", "make", "model", "vin"];

    fn shown(&self) -> Map<String, Value> {
        self.members()
    }
}

impl Ruled for Vehicle {
    async fn rules(edit: &mut Edit<Fleet>, before: Option<&Record<Self>>, vehicle: &mut Self) -> Result<(), Problem> {
        if vehicle.name.is_none() && vehicle.plate_number.is_none() {
            return Err(FieldErrors::one("name", "A vehicle needs a name or a plate number."));
        }
        location::settle(before.map(|before| &before.fields), vehicle, edit.now)
    }
}
