//! Tracking numbers: created with an order, for its recipient.

use crate::callers::Area;
use crate::events::EventName;
use crate::fleet::Fleet;
use crate::fleet::orders::{Order, ShipmentNumber};
use crate::kernel::ids::TrackingNumberId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Change, EventDoc, Link, PublishesEvents, Record, RecordTransaction, Resource, Validated};

crate::fields! {
    /// The tracking number of an order.
    pub struct TrackingNumber, body TrackingNumberBody {
        /// The number that the recipient tracks the order with.
        #[sample = "7KQ2M9XD4T1B"] #[filtered] #[searched]
        tracking_number: ShipmentNumber,
        /// The order.
        #[filtered]
        order_id as "order": Link<Order>,
    }
}

crate::events! {
    /// The events about tracking numbers.
    pub const EVENTS {
        /// Tracking number generated for a shipment.
        CREATED = "tracking_number.created";
        /// Tracking number changed.
        UPDATED = "tracking_number.updated";
    }
}

impl Resource for TrackingNumber {
    type Id = TrackingNumberId;
    type State = Fleet;

    const SINGULAR: &'static str = "tracking_number";
    const PLURAL: &'static str = "tracking_numbers";
    const AREA: Area = Area::Business;
}

impl PublishesEvents for TrackingNumber {
    const EVENTS: &'static [EventDoc] = EVENTS;

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        match change {
            Change::Created(_) => vec![CREATED],
            Change::Updated(..) => vec![UPDATED],
            Change::Deleted(_) => Vec::new(),
        }
    }
}

impl Validated for TrackingNumber {
    /// Updates the order with its new number.
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, number: &mut Self) -> Result<(), Problem> {
        if before.is_some_and(|before| before.fields == *number) {
            return Ok(());
        }
        if before.is_some_and(|before| before.fields.order_id != number.order_id) {
            return Err(FieldErrors::one("order", "The order of a tracking number cannot change."));
        }
        let Some(order) = transaction.lock_all::<Order>(&[number.order_id]).await?.pop() else {
            return Err(FieldErrors::one("order", "The order was deleted; its tracking number cannot change."));
        };
        let renumbered = Order { tracking_number: number.tracking_number.clone(), ..order.fields.clone() };
        transaction.update(order, renumbered).await?;
        Ok(())
    }
}
