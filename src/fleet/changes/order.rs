//! The events and consequences of a change of an order.

use crate::events::EventName;
use crate::fleet::Fleet;
use crate::fleet::drivers::{self, Driver};
use crate::fleet::orders::status::Status;
use crate::fleet::orders::{self, Order};
use crate::fleet::tracking::{TrackingNumber, TrackingStatus};
use crate::kernel::ids::{TrackingNumberId, TrackingStatusId};
use crate::kernel::problem::Problem;
use crate::members;
use crate::resources::{Change, EventDoc, PublishesEvents, RecordTransaction, Unique};

impl PublishesEvents for Order {
    const EVENTS: &'static [EventDoc] = orders::EVENTS;
    const UNIQUE: &'static [Unique] = &[Unique {
        constraint: "orders_tracking_number_key",
        member: "tracking_number",
        sentence: "Another order has this tracking number.",
    }];

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        let own = match change {
            Change::Created(_) => [Some(orders::CREATED), None],
            Change::Updated(..) => [reached(change).and_then(event_of), Some(orders::UPDATED)],
            Change::Deleted(_) => [Some(orders::DELETED), None],
        };
        let assigned = change.newly(|order| order.driver_id).map(|_| orders::DRIVER_ASSIGNED);
        own.into_iter().flatten().chain(assigned).collect()
    }

    async fn follow_up(transaction: &mut RecordTransaction<Fleet>, change: &Change<'_, Self>) -> Result<(), Problem> {
        let order = change.record();
        if let Change::Created(_) = change {
            let number = TrackingNumber { order_id: order.id, tracking_number: order.fields.tracking_number.clone() };
            transaction.insert(TrackingNumberId::new(transaction.now), number).await?;
        }
        if let Some(status) = reached(change) {
            transaction.insert(TrackingStatusId::new(transaction.now), TrackingStatus::reached(order.id, status)).await?;
        }
        if let Some(driver) = change.newly(|order| order.driver_id)
            && let Some(driver) = transaction.find::<Driver>(driver).await?
        {
            transaction.announce(driver, drivers::ASSIGNED, members! { "order": order.id }).await?;
        }
        Ok(())
    }
}

/// The status, if the change has set it.
fn reached(change: &Change<'_, Order>) -> Option<Status> {
    change.newly(|order| Some(order.status))
}

fn event_of(reached: Status) -> Option<EventName> {
    match reached {
        // No transition leads back to the initial status.
        Status::Created => None,
        Status::Dispatched => Some(orders::DISPATCHED),
        Status::Started => Some(orders::STARTED),
        Status::Completed => Some(orders::COMPLETED),
        Status::Cancelled => Some(orders::CANCELLED),
        Status::Failed => Some(orders::FAILED),
    }
}
