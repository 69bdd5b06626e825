//! What a request may do to a driver.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::contact::{EmailAddress, PhoneNumber};
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::kernel::ids::DriverId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Edit, Editable, Line, Member, Meta, New, Record, Within};

/// Degrees north.
pub(super) type Latitude = Within<-90, 90>;
/// Degrees east.
pub(super) type Longitude = Within<-180, 180>;
/// Degrees clockwise from north.
pub(super) type Heading = Within<0, 360>;

/// The members of a driver that can be sent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DriverBody {
    name: Member<Line<255>>,
    phone: Member<Option<PhoneNumber>>,
    email: Member<Option<EmailAddress>>,
    license_number: Member<Option<Line<100>>>,
    online: Member<bool>,
    latitude: Member<Option<Latitude>>,
    longitude: Member<Option<Longitude>>,
    heading: Member<Option<Heading>>,
    speed: Member<Option<f64>>,
    altitude: Member<Option<f64>>,
    meta: Member<Meta>,
}

impl DriverBody {
    fn put(self, driver: &mut Driver, now: DateTime<Utc>) -> Result<(), Problem> {
        self.name.put(&mut driver.name);
        self.phone.put_or_clear(&mut driver.phone);
        self.email.put_or_clear(&mut driver.email);
        self.license_number.put_or_clear(&mut driver.license_number);
        self.online.put(&mut driver.online);
        self.meta.put(&mut driver.meta);
        let mut location = driver.location();
        self.latitude.put_or_clear(&mut location.latitude);
        self.longitude.put_or_clear(&mut location.longitude);
        self.heading.put_or_clear(&mut location.heading);
        self.speed.put_or_clear(&mut location.speed);
        self.altitude.put_or_clear(&mut location.altitude);
        driver.move_to(location, now);
        let mut wrong = FieldErrors::default();
        if driver.name.is_empty() {
            wrong.add("name", "name is required.");
        }
        match (driver.latitude, driver.longitude) {
            (Some(_), None) => wrong.add("longitude", "A latitude needs a longitude."),
            (None, Some(_)) => wrong.add("latitude", "A longitude needs a latitude."),
            _ => {}
        }
        wrong.finish()
    }
}

impl Editable for Driver {
    type Body = DriverBody;

    async fn create(edit: &mut Edit<Fleet>, _: DriverId, body: DriverBody) -> Result<New<Self>, Problem> {
        let mut driver = Self::default();
        body.put(&mut driver, edit.now)?;
        Ok(driver.into())
    }

    async fn change(edit: &mut Edit<Fleet>, before: &Record<Self>, body: DriverBody) -> Result<Self, Problem> {
        let mut driver = before.fields.clone();
        body.put(&mut driver, edit.now)?;
        Ok(driver)
    }
}
