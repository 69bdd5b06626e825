//! The events and consequences of a change of a driver.

use crate::events::EventName;
use crate::fleet::Fleet;
use crate::fleet::drivers::{self, Driver};
use crate::fleet::location::Located;
use crate::fleet::orders::{self, Order};
use crate::fleet::vehicles::Vehicle;
use crate::kernel::problem::Problem;
use crate::members;
use crate::resources::{Change, EventDoc, PublishesEvents, RecordTransaction, ReferencedBy};

impl PublishesEvents for Driver {
    const EVENTS: &'static [EventDoc] = drivers::EVENTS;
    const REFERENCED_BY: &'static [ReferencedBy] = &[
        ReferencedBy::new::<Order>("driver_id", "The driver is assigned to an open order. Assign another driver first.")
            .when(orders::IS_OPEN),
        ReferencedBy::new::<Vehicle>("driver_id", "The driver is assigned to a vehicle. Assign another driver, or none, first."),
    ];

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        let (before, after) = match change {
            Change::Created(_) => return vec![drivers::CREATED],
            Change::Deleted(_) => return vec![drivers::DELETED],
            Change::Updated(before, after) => (&before.fields, &after.fields),
        };
        let availability = if after.online { drivers::ONLINE } else { drivers::OFFLINE };
        let happened = [
            (before.location() != after.location(), drivers::LOCATION_CHANGED),
            (before.online != after.online, availability),
            (before.profile() != after.profile(), drivers::UPDATED),
        ];
        happened.into_iter().filter(|(happened, _)| *happened).map(|(_, name)| name).collect()
    }

    async fn follow_up(transaction: &mut RecordTransaction<Fleet>, change: &Change<'_, Self>) -> Result<(), Problem> {
        if let Some(fleet) = change.newly(|driver| driver.fleet_id) {
            transaction.announce(change.record().clone(), drivers::ASSIGNED, members! { "fleet": fleet }).await?;
        }
        Ok(())
    }
}

impl Driver {
    /// The driver without the fields that have events of their own.
    fn profile(&self) -> Self {
        Self { online: false, ..self.without_location() }
    }
}
