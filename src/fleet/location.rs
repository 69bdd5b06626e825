//! The location of drivers and vehicles: five columns of the record itself, and the instant at which it was recorded.
//!
//! `PUT` changes a location like any other field, and [`crate::fleet::positions`] is the fast path. None of these columns is indexed, so
//! Postgres can update a row within its page (HOT update). A separate table for positions was measured: it made a batch of a hundred
//! with its events 10% faster, which does not justify a second statement in every list.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Columns, NumberIn, NumberOutOfRange};

/// Degrees north.
pub type Latitude = NumberIn<-90, 90>;
/// Degrees east.
pub type Longitude = NumberIn<-180, 180>;

/// Degrees clockwise from north, if they are known. Phones send a number below zero for an unknown heading.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Option<f64>")]
pub struct Heading(Option<f64>);

/// A speed in the company's own unit, if it is known. Phones send a number below zero for an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "Option<f64>")]
pub struct Speed(Option<f64>);

/// A number that is never below zero, if the phone knows it.
fn known(sent: Option<f64>) -> Option<f64> {
    sent.filter(|number| *number >= 0.0)
}

impl TryFrom<Option<f64>> for Heading {
    type Error = NumberOutOfRange;

    fn try_from(sent: Option<f64>) -> Result<Self, NumberOutOfRange> {
        known(sent).map(NumberIn::<0, 360>::try_from).transpose().map(|heading| Self(heading.map(f64::from)))
    }
}

impl From<Option<f64>> for Speed {
    fn from(sent: Option<f64>) -> Self {
        Self(known(sent))
    }
}

impl From<Heading> for Option<f64> {
    fn from(heading: Heading) -> Self {
        heading.0
    }
}

impl From<Speed> for Option<f64> {
    fn from(speed: Speed) -> Self {
        speed.0
    }
}

crate::field_type!(
    Heading => Option<f64>,
    json!({ "type": ["number", "null"], "maximum": 360 }),
    in events json!({ "type": ["number", "null"] }),
    initially None
);
crate::field_type!(Speed => Option<f64>, json!({ "type": ["number", "null"] }), initially None);

/// The location and movement of a driver or vehicle. Speed and altitude are in the shop's own units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Location {
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
    pub heading: Option<f64>,
    pub speed: Option<f64>,
    pub altitude: Option<f64>,
}

/// A record with the columns of a location. Implemented by [`located!`].
pub trait Located: Columns {
    fn location(&self) -> Location;

    /// When the location was last recorded.
    fn located_at(&self) -> Option<DateTime<Utc>>;

    fn put_location(&mut self, location: Location, at: Option<DateTime<Utc>>);

    fn without_location(&self) -> Self {
        let mut rest = self.clone();
        rest.put_location(Location::default(), None);
        rest
    }
}

/// Declares a [`Located`] record: its own fields followed by those of a location, with everything that [`fields!`](crate::fields)
/// derives from them. A macro, because no type can add fields to a struct, and the six fields and the three functions over them would
/// otherwise stand at both drivers and vehicles.
macro_rules! located {
    ($(#[$($about:tt)+])* $visible:vis struct $Record:ident, body $Body:ident { $($own:tt)* }) => {
        $crate::fields! {
            $(#[$($about)+])*
            $visible struct $Record, body $Body {
                $($own)*
                /// Latitude in degrees north, from -90 to 90.
                #[sample = 51.5237]
                latitude: Option<$crate::fleet::location::Latitude>,
                /// Longitude in degrees east, from -180 to 180.
                #[sample = -0.1585]
                longitude: Option<$crate::fleet::location::Longitude>,
                /// Heading in degrees clockwise from north, up to 360. Below zero is unknown, and shown as null.
                #[sample = 90.0]
                heading: $crate::fleet::location::Heading,
                /// Speed, in the shop's own unit. Below zero is unknown, and shown as null.
                #[sample = 11.5]
                speed: $crate::fleet::location::Speed,
                /// Altitude, in the shop's own unit.
                #[sample = 35.0]
                altitude: Option<f64>,
            }
            read_only {
                /// When the location was last recorded.
                #[sample = "2026-05-21T10:15:00.000+00:00"]
                location_updated_at: Option<$crate::resources::Instant>,
            }
        }

        impl $crate::fleet::location::Located for $Record {
            fn location(&self) -> $crate::fleet::location::Location {
                let Self { latitude, longitude, heading, speed, altitude, .. } = *self;
                $crate::fleet::location::Location { latitude, longitude, heading, speed, altitude }
            }

            fn located_at(&self) -> Option<::chrono::DateTime<::chrono::Utc>> {
                self.location_updated_at
            }

            fn put_location(&mut self, location: $crate::fleet::location::Location, at: Option<::chrono::DateTime<::chrono::Utc>>) {
                let $crate::fleet::location::Location { latitude, longitude, heading, speed, altitude } = location;
                (self.latitude, self.longitude) = (latitude, longitude);
                (self.heading, self.speed, self.altitude) = (heading, speed, altitude);
                self.location_updated_at = at;
            }
        }
    };
}
pub(crate) use located;

/// Validates the location of a request body, and sets its instant if the location has changed.
pub fn settle<R: Located>(before: Option<&R>, after: &mut R, now: DateTime<Utc>) -> Result<(), Problem> {
    let location = after.location();
    if before.map(R::location).unwrap_or_default() != location {
        after.put_location(location, Some(now));
    }
    check_pair(location.latitude, location.longitude)
}

/// Latitude and longitude must be given together.
pub fn check_pair(latitude: Option<f64>, longitude: Option<f64>) -> Result<(), Problem> {
    match (latitude, longitude) {
        (Some(_), None) => Err(FieldErrors::one("longitude", "A latitude needs a longitude.")),
        (None, Some(_)) => Err(FieldErrors::one("latitude", "A longitude needs a latitude.")),
        _ => Ok(()),
    }
}
