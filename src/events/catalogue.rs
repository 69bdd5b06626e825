//! The catalogue: every event the service itself emits (interface 2, Events; decisions, section 7).

use crate::events::EventName;

/// One kind of event.
#[derive(Debug)]
pub struct EventType {
    /// Its name.
    pub name: EventName,
    /// What it means, in a sentence.
    pub meaning: &'static str,
}

macro_rules! catalogue {
    ($($NAME:ident, $name:literal, $meaning:literal;)*) => {
        /// The names, for the code that emits them.
        pub mod names {
            use super::EventName;
            $(#[doc = $meaning] pub const $NAME: EventName = EventName::of_the_catalogue($name);)*
        }
        /// Every event the service itself emits, in the order of the documentation.
        pub static CATALOGUE: &[EventType] = &[$(EventType { name: names::$NAME, meaning: $meaning },)*];
    };
}

catalogue! {
    ORDER_CREATED, "order.created", "New order placed.";
    ORDER_UPDATED, "order.updated", "Any field of an order changed.";
    ORDER_DRIVER_ASSIGNED, "order.driver_assigned", "A driver was assigned to the order.";
    ORDER_DISPATCHED, "order.dispatched", "Order assigned to a driver and dispatched.";
    ORDER_STARTED, "order.started", "Driver started the order journey.";
    ORDER_COMPLETED, "order.completed", "Order delivered.";
    ORDER_CANCELLED, "order.cancelled", "Order cancelled.";
    ORDER_FAILED, "order.failed", "The order could not be delivered.";
    ORDER_DELETED, "order.deleted", "Order deleted.";
    DRIVER_CREATED, "driver.created", "New driver added.";
    DRIVER_UPDATED, "driver.updated", "Driver's profile or status changed.";
    DRIVER_ASSIGNED, "driver.assigned", "Driver assigned to an order or fleet.";
    DRIVER_LOCATION_CHANGED, "driver.location_changed", "Driver's GPS coordinates updated.";
    DRIVER_ONLINE, "driver.online", "Driver went online and is available.";
    DRIVER_OFFLINE, "driver.offline", "Driver went offline.";
    DRIVER_DELETED, "driver.deleted", "Driver removed.";
    TRACKING_NUMBER_CREATED, "tracking_number.created", "Tracking number generated for a shipment.";
    TRACKING_NUMBER_UPDATED, "tracking_number.updated", "Tracking number changed.";
    TRACKING_STATUS_CREATED, "tracking_status.created", "New tracking status recorded.";
    TRACKING_STATUS_UPDATED, "tracking_status.updated", "Tracking status changed.";
    PROOF_OF_DELIVERY_CREATED, "proof_of_delivery.created", "Proof of delivery (signature or photo) captured.";
    VEHICLE_CREATED, "vehicle.created", "New vehicle added.";
    VEHICLE_UPDATED, "vehicle.updated", "Vehicle's details or status changed.";
    VEHICLE_ASSIGNED, "vehicle.assigned", "Vehicle assigned to a driver or fleet.";
    VEHICLE_LOCATION_CHANGED, "vehicle.location_changed", "Vehicle's GPS coordinates updated.";
    VEHICLE_DELETED, "vehicle.deleted", "Vehicle removed.";
    FLEET_CREATED, "fleet.created", "New fleet formed.";
    FLEET_UPDATED, "fleet.updated", "Fleet changed.";
    FLEET_DELETED, "fleet.deleted", "Fleet dissolved.";
    ISSUE_CREATED, "issue.created", "New issue or incident reported.";
    ISSUE_UPDATED, "issue.updated", "Existing issue updated.";
    ISSUE_RESOLVED, "issue.resolved", "Issue marked resolved.";
    ISSUE_DELETED, "issue.deleted", "Issue deleted.";
    CUSTOMER_CREATED, "customer.created", "A customer registered.";
    CUSTOMER_UPDATED, "customer.updated", "A customer's profile changed.";
    CUSTOMER_CLOSED, "customer.closed", "A customer closed their account.";
    PAYMENT_SUCCEEDED, "payment.succeeded", "A payment succeeded.";
    PAYMENT_FAILED, "payment.failed", "A payment failed.";
    PAYMENT_PENDING, "payment.pending", "A payment is pending.";
    REFUND_PROCESSED, "refund.processed", "A refund was processed.";
    REFUND_FAILED, "refund.failed", "A refund failed.";
    SETUP_SUCCEEDED, "setup.succeeded", "A payment method was saved.";
    CHARGEBACK_CREATED, "chargeback.created", "A payment was disputed.";
    WEBHOOK_TEST, "webhook.test", "A test event sent by hand.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_well_formed_and_stands_once() {
        let mut names: Vec<_> = CATALOGUE.iter().map(|event_type| event_type.name.as_str()).collect();
        assert!(names.iter().all(|name| name.parse::<EventName>().is_ok()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CATALOGUE.len());
    }
}
