//! The names of the service's own events, as constants.

use crate::events::EventName;

macro_rules! names {
    ($($NAME:ident, $name:literal;)*) => {
        $(#[doc = concat!("`", $name, "`")] pub const $NAME: EventName = EventName::of_the_catalogue($name);)*
        /// All names.
        #[cfg(test)]
        pub(super) const ALL: &[EventName] = &[$($NAME),*];
    };
}

names! {
    ORDER_CREATED, "order.created";
    ORDER_UPDATED, "order.updated";
    ORDER_DRIVER_ASSIGNED, "order.driver_assigned";
    ORDER_DISPATCHED, "order.dispatched";
    ORDER_STARTED, "order.started";
    ORDER_COMPLETED, "order.completed";
    ORDER_CANCELLED, "order.cancelled";
    ORDER_FAILED, "order.failed";
    ORDER_DELETED, "order.deleted";
    DRIVER_CREATED, "driver.created";
    DRIVER_UPDATED, "driver.updated";
    DRIVER_ASSIGNED, "driver.assigned";
    DRIVER_LOCATION_CHANGED, "driver.location_changed";
    DRIVER_ONLINE, "driver.online";
    DRIVER_OFFLINE, "driver.offline";
    DRIVER_DELETED, "driver.deleted";
    TRACKING_NUMBER_CREATED, "tracking_number.created";
    TRACKING_NUMBER_UPDATED, "tracking_number.updated";
    TRACKING_STATUS_CREATED, "tracking_status.created";
    TRACKING_STATUS_UPDATED, "tracking_status.updated";
    PROOF_OF_DELIVERY_CREATED, "proof_of_delivery.created";
    VEHICLE_CREATED, "vehicle.created";
    VEHICLE_UPDATED, "vehicle.updated";
    VEHICLE_ASSIGNED, "vehicle.assigned";
    VEHICLE_LOCATION_CHANGED, "vehicle.location_changed";
    VEHICLE_DELETED, "vehicle.deleted";
    FLEET_CREATED, "fleet.created";
    FLEET_UPDATED, "fleet.updated";
    FLEET_DELETED, "fleet.deleted";
    ISSUE_CREATED, "issue.created";
    ISSUE_UPDATED, "issue.updated";
    ISSUE_RESOLVED, "issue.resolved";
    ISSUE_DELETED, "issue.deleted";
    CUSTOMER_CREATED, "customer.created";
    CUSTOMER_UPDATED, "customer.updated";
    CUSTOMER_CLOSED, "customer.closed";
    PAYMENT_SUCCEEDED, "payment.succeeded";
    PAYMENT_FAILED, "payment.failed";
    PAYMENT_PENDING, "payment.pending";
    REFUND_PROCESSED, "refund.processed";
    REFUND_FAILED, "refund.failed";
    SETUP_SUCCEEDED, "setup.succeeded";
    CHARGEBACK_CREATED, "chargeback.created";
    WEBHOOK_TEST, "webhook.test";
    WEBHOOK_FAILING, "webhook.failing";
    WEBHOOK_DISABLED, "webhook.disabled";
    WEBHOOK_RECOVERED, "webhook.recovered";
}
