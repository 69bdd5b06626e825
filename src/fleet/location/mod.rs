//! Where drivers and vehicles are, and how they move.
//!
//! A location is five columns of the record itself. It changes by `PUT` like all others, and by the quick way in [`track`], which takes
//! many at once, writes those five columns and their instant alone, by one statement for all of them, and one more for their events.
//! None of these columns stands in an index, so a new position takes the place of the old one on its page. A table of its own for
//! positions was measured: a batch of a hundred with its events took a tenth less, which is not worth a second statement in every list.
//!
//! A position has the instant at which it was taken. One that is older than the last is late and ignored: the way it came says nothing
//! about where somebody is.

mod queries;
mod track;

use chrono::{DateTime, Utc};

use crate::events::EventName;
use crate::fleet::Fleet;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Announced, Within};

pub(super) use track::{track, track_many};

/// Degrees north.
pub type Latitude = Within<-90, 90>;
/// Degrees east.
pub type Longitude = Within<-180, 180>;
/// Degrees clockwise from north.
pub type Heading = Within<0, 360>;

/// Where somebody or something is, and how it moves. Speed and altitude are in the shop's own units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Location {
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
    pub heading: Option<f64>,
    pub speed: Option<f64>,
    pub altitude: Option<f64>,
}

/// A record that has a location, in columns of these names.
pub trait Located: Announced<Room = Fleet> {
    /// The event that tells of another location.
    const LOCATION_CHANGED: EventName;

    /// Where it is.
    fn location(&self) -> Location;

    /// When it was there, or last said to be.
    fn located_at(&self) -> Option<DateTime<Utc>>;

    /// Notes where it is, and since when.
    fn put_location(&mut self, location: Location, at: Option<DateTime<Utc>>);

    /// All of it but where it is.
    fn without_location(&self) -> Self {
        let mut rest = self.clone();
        rest.put_location(Location::default(), None);
        rest
    }
}

/// Declares a [`Located`] record: the members of a location behind those of its own, and all that [`fields!`](crate::fields) makes of both.
macro_rules! located {
    ($(#[$outer:meta])* $visible:vis struct $Record:ident, sent as $Body:ident, moving as $event:path { $($own:tt)* }) => {
        $crate::fields! {
            $(#[$outer])*
            $visible struct $Record, sent as $Body {
                $($own)*
                /// Degrees north.
                latitude: Option<$crate::fleet::location::Latitude>,
                /// Degrees east.
                longitude: Option<$crate::fleet::location::Longitude>,
                /// Degrees clockwise from north.
                heading: Option<$crate::fleet::location::Heading>,
                /// In the shop's own unit.
                speed: Option<f64>,
                /// In the shop's own unit.
                altitude: Option<f64>,
            }
            kept {
                /// When that was the location, or was last said to be.
                location_updated_at: Option<$crate::resources::Instant>,
            }
        }

        impl $crate::fleet::location::Located for $Record {
            const LOCATION_CHANGED: $crate::events::EventName = $event;

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
pub(super) use located;

/// Judges the location a body gave, and dates it if it is another one than before.
pub(super) fn settle<R: Located>(before: Option<&R>, after: &mut R, now: DateTime<Utc>) -> Result<(), Problem> {
    let location = after.location();
    if before.map(R::location).unwrap_or_default() != location {
        after.put_location(location, Some(now));
    }
    check_pair(location.latitude, location.longitude)
}

/// A place has a latitude and a longitude, or neither.
pub(super) fn check_pair(latitude: Option<f64>, longitude: Option<f64>) -> Result<(), Problem> {
    match (latitude, longitude) {
        (Some(_), None) => Err(FieldErrors::one("longitude", "A latitude needs a longitude.")),
        (None, Some(_)) => Err(FieldErrors::one("latitude", "A longitude needs a latitude.")),
        _ => Ok(()),
    }
}
