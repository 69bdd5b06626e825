//! The names of the service's own events, as constants.

use crate::events::EventName;

macro_rules! names {
    ($($NAME:ident, $name:literal;)*) => {
        $(#[doc = concat!("`", $name, "`")] pub const $NAME: EventName = EventName::constant($name);)*
        /// All names.
        #[cfg(test)]
        pub(super) const ALL: &[EventName] = &[$($NAME),*];
    };
}

names! {
    CUSTOMER_CREATED, "customer.created";
    CUSTOMER_UPDATED, "customer.updated";
    CUSTOMER_CLOSED, "customer.closed";
    CUSTOMER_SIGNED_IN, "customer.signed_in";
    CUSTOMER_LOCKED_OUT, "customer.locked_out";
    CUSTOMER_CONTACT_CHANGED, "customer.contact_changed";
    CUSTOMER_DEVICE_ADDED, "customer.device_added";
    TEXTS_PAUSED, "texts.paused";
    TEXTS_RESUMED, "texts.resumed";
    PAYMENT_SUCCEEDED, "payment.succeeded";
    PAYMENT_FAILED, "payment.failed";
    PAYMENT_PENDING, "payment.pending";
    REFUND_PROCESSED, "refund.processed";
    REFUND_FAILED, "refund.failed";
    SETUP_SUCCEEDED, "setup.succeeded";
    CHARGEBACK_CREATED, "chargeback.created";
}
