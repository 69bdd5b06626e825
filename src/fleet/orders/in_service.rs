//! The driver and the vehicle of an order are in service when it sets out. If one of them goes out of service on the way, the order goes on.

use crate::fleet::Fleet;
use crate::fleet::drivers::{Driver, DriverStatus};
use crate::fleet::orders::Order;
use crate::fleet::orders::status::TransitionError;
use crate::fleet::vehicles::{Vehicle, VehicleStatus};
use crate::kernel::ids::{DriverId, VehicleId};
use crate::kernel::problem::Problem;
use crate::resources::RecordTransaction;

impl Order {
    /// The driver and the vehicle that the change from `before` sends on the way.
    fn sent(&self, before: &Self) -> (Option<DriverId>, Option<VehicleId>) {
        let sets_out = !before.status.is_on_the_way();
        let driver = self.driver_id.filter(|driver| sets_out || before.driver_id != Some(*driver));
        let vehicle = self.vehicle_id.filter(|vehicle| sets_out || before.vehicle_id != Some(*vehicle));
        if self.status.is_on_the_way() { (driver, vehicle) } else { (None, None) }
    }

    /// Returns an error if the change from `before` sends a driver or a vehicle on the way that is out of service. Neither goes out of service
    /// until the transaction ends.
    pub(super) async fn check_service(&self, before: &Self, transaction: &mut RecordTransaction<Fleet>) -> Result<(), Problem> {
        let (driver, vehicle) = self.sent(before);
        if let Some(vehicle) = vehicle
            && let Some(vehicle) = transaction.lock_shared::<Vehicle>(vehicle).await?
            && vehicle.fields.status != VehicleStatus::Active
        {
            return Err(TransitionError::VehicleOutOfService(vehicle.fields.status).into());
        }
        if let Some(driver) = driver
            && let Some(driver) = transaction.lock_shared::<Driver>(driver).await?
            && driver.fields.status != DriverStatus::Active
        {
            return Err(TransitionError::DriverOutOfService.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::fleet::orders::status::Status::{Cancelled, Completed, Created, Dispatched, Started};

    #[test]
    fn who_is_sent_on_the_way_is_looked_at_once() {
        let (ada, bob) = (DriverId::from(Uuid::from_u128(1)), DriverId::from(Uuid::from_u128(2)));
        let van = VehicleId::from(Uuid::from_u128(3));
        let order = |status, driver| Order { status, driver_id: Some(driver), vehicle_id: Some(van), ..Order::default() };
        for (before, after, sent) in [
            (order(Created, ada), order(Created, bob), (None, None)),
            (order(Created, ada), order(Dispatched, ada), (Some(ada), Some(van))),
            (order(Created, ada), order(Started, bob), (Some(bob), Some(van))),
            (order(Dispatched, ada), order(Started, ada), (None, None)),
            (order(Dispatched, ada), order(Dispatched, bob), (Some(bob), None)),
            (order(Started, ada), order(Completed, ada), (None, None)),
            (order(Created, ada), order(Cancelled, ada), (None, None)),
        ] {
            assert_eq!(after.sent(&before), sent, "{before:?} {after:?}");
        }
    }
}
