//! Drivers: the people who carry orders, and where they are.
//!
//! A driver has a profile, a location and is online or not; each of the three has events of its own, and a change of one says nothing
//! of the others. Where many drivers report at once, [`track_routes`] is the quick way in.
//!
//! A driver who serves an open order cannot be deleted: a dispatched order without a driver would be nobody's. Closed orders go on
//! showing who carried them.

mod body;
mod changes;
mod queries;
mod track;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::fleet::Fleet;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::DriverId;
use crate::members;
use crate::resources::{Filter, Meta, Record, Resource};

pub use track::routes as track_routes;

crate::columns! {
    /// A driver.
    #[derive(Default)]
    pub struct Driver {
        /// What they are called.
        pub name: String,
        /// Where they are reached, in E.164.
        pub phone: Option<String>,
        /// Where they are written to.
        pub email: Option<String>,
        /// What allows them to drive.
        pub license_number: Option<String>,
        /// They are available.
        pub online: bool,
        /// Degrees north.
        pub latitude: Option<f64>,
        /// Degrees east.
        pub longitude: Option<f64>,
        /// Degrees clockwise from north.
        pub heading: Option<f64>,
        /// In the shop's own unit.
        pub speed: Option<f64>,
        /// In the shop's own unit.
        pub altitude: Option<f64>,
        /// When one of the last five changed.
        pub location_updated_at: Option<DateTime<Utc>>,
        /// What the shop keeps with them.
        pub meta: Meta,
    }
}

impl Resource for Driver {
    type Id = DriverId;
    type Room = Fleet;

    const SINGULAR: &'static str = "driver";
    const PLURAL: &'static str = "drivers";
    const FILTERS: &'static [Filter] =
        &[Filter::boolean("online"), Filter::text("phone"), Filter::text("email"), Filter::text("license_number")];
    const SEARCH: &'static [&'static str] = &["name", "phone", "email", "license_number"];

    async fn present(_: &mut PgConnection, drivers: &[Record<Self>]) -> Result<Vec<Map<String, Value>>, sqlx::Error> {
        Ok(drivers.iter().map(|driver| driver.fields.members()).collect())
    }
}

impl Driver {
    fn members(&self) -> Map<String, Value> {
        members! {
            "name": self.name,
            "phone": self.phone,
            "email": self.email,
            "license_number": self.license_number,
            "online": self.online,
            "latitude": self.latitude,
            "longitude": self.longitude,
            "heading": self.heading,
            "speed": self.speed,
            "altitude": self.altitude,
            "location_updated_at": self.location_updated_at.map(timestamp),
            "meta": self.meta,
        }
    }

    /// Where they are and how they move.
    fn location(&self) -> Location {
        let Self { latitude, longitude, heading, speed, altitude, .. } = *self;
        Location { latitude, longitude, heading, speed, altitude }
    }

    /// Notes where they are now, and since when if that is somewhere else.
    fn move_to(&mut self, location: Location, now: DateTime<Utc>) {
        if location == self.location() {
            return;
        }
        let Location { latitude, longitude, heading, speed, altitude } = location;
        *self = Self { latitude, longitude, heading, speed, altitude, location_updated_at: Some(now), ..self.clone() };
    }
}

/// The part of a driver that changes while they drive.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Location {
    latitude: Option<f64>,
    longitude: Option<f64>,
    heading: Option<f64>,
    speed: Option<f64>,
    altitude: Option<f64>,
}
