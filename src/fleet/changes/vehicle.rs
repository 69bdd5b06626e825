//! The events and consequences of a change of a vehicle.

use crate::events::EventName;
use crate::fleet::Fleet;
use crate::fleet::location::Located;
use crate::fleet::orders::{self, Order};
use crate::fleet::vehicles::{self, Vehicle};
use crate::kernel::problem::Problem;
use crate::members;
use crate::resources::{Change, EventDoc, PublishesEvents, RecordTransaction, ReferencedBy};

impl PublishesEvents for Vehicle {
    const EVENTS: &'static [EventDoc] = vehicles::EVENTS;
    const REFERENCED_BY: &'static [ReferencedBy] =
        &[ReferencedBy::new::<Order>("vehicle_id", "The vehicle carries an open order. Assign another vehicle, or none, first.")
            .when(orders::IS_OPEN)];

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        let (before, after) = match change {
            Change::Created(_) => return vec![vehicles::CREATED],
            Change::Deleted(_) => return vec![vehicles::DELETED],
            Change::Updated(before, after) => (&before.fields, &after.fields),
        };
        let happened = [
            (before.location() != after.location(), vehicles::LOCATION_CHANGED),
            (before.without_location() != after.without_location(), vehicles::UPDATED),
        ];
        happened.into_iter().filter(|(happened, _)| *happened).map(|(_, name)| name).collect()
    }

    /// One change publishes at most one assignment event, which names the new driver, the new fleet, or both.
    async fn follow_up(transaction: &mut RecordTransaction<Fleet>, change: &Change<'_, Self>) -> Result<(), Problem> {
        let driver = change.newly(|vehicle| vehicle.driver_id).map(|driver| members! { "driver": driver });
        let fleet = change.newly(|vehicle| vehicle.fleet_id).map(|fleet| members! { "fleet": fleet });
        if driver.is_some() || fleet.is_some() {
            let assigned_to = driver.into_iter().chain(fleet).flatten().collect();
            transaction.announce(change.record().clone(), vehicles::ASSIGNED, assigned_to).await?;
        }
        Ok(())
    }
}
