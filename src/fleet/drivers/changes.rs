//! What the change of a driver means to others.

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::drivers::{Driver, queries};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Announced, Change, Edit};

impl Announced for Driver {
    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        let (before, after) = match change {
            Change::Created(_) => return vec![names::DRIVER_CREATED],
            Change::Deleted(_) => return vec![names::DRIVER_DELETED],
            Change::Updated(before, after) => (&before.fields, &after.fields),
        };
        let availability = if after.online { names::DRIVER_ONLINE } else { names::DRIVER_OFFLINE };
        let happened = [
            (before.location() != after.location(), names::DRIVER_LOCATION_CHANGED),
            (before.online != after.online, availability),
            (before.profile() != after.profile(), names::DRIVER_UPDATED),
        ];
        happened.into_iter().filter(|(happened, _)| *happened).map(|(_, name)| name).collect()
    }

    async fn follow_up(edit: &mut Edit<Fleet>, change: &Change<'_, Self>) -> Result<(), Problem> {
        match change {
            Change::Deleted(driver) if queries::serves_an_open_order(edit.conn(), driver.id).await? => {
                Err(Problem::new(ProblemCode::RecordInUse).detail("The driver serves an open order, which needs another driver first."))
            }
            _ => Ok(()),
        }
    }
}

impl Driver {
    /// All of the driver but what has events of its own.
    fn profile(&self) -> Self {
        let (latitude, longitude, heading, speed, altitude) = Default::default();
        Self { online: false, latitude, longitude, heading, speed, altitude, location_updated_at: None, ..self.clone() }
    }
}
