//! Orders: deliveries from one place to another, their driver and their status.
//!
//! This file declares the fields. [`status`] defines the status transitions, and `body` how requests create and change orders.
//!
//! A driver and a vehicle are records of the fleet, and references to them are checked. A customer is an id that the shop supplies
//! and that is not checked: customers belong to a module on the same layer, which this one does not depend on, and an order
//! outlives its customer's account.

mod body;
mod following;
mod in_service;
mod payload;
mod shipment_number;
pub mod status;

use serde_json::Value;

use crate::callers::Area;
use crate::contact::{EmailAddress, PhoneNumber};
use crate::fleet::Fleet;
use crate::fleet::drivers::{self, Contact, Driver};
use crate::fleet::orders::payload::Payload;
use crate::fleet::orders::status::Status;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, OrderId};
use crate::kernel::problem::ProblemCode;
use crate::resources::{Columns, FieldType, Instant, Line, Link, Meta, Presented, Record, Reference, Resource, Text};

/// The SQL condition for open orders, which need their driver and vehicle.
pub const IS_OPEN: &str = "status in ('created', 'dispatched', 'started')";

pub use following::{Carrier, FollowedOrder, Follower};
pub use shipment_number::ShipmentNumber;

crate::fields! {
    /// An order.
    #[derive(Default)]
    pub struct Order, body OrderBody {
        /// The status of the order.
        #[filtered]
        status: Status,
        /// The shop's own id of the order.
        #[sample = "WEB-1042"] #[filtered] #[searched]
        internal_id: Option<Line<100>>,
        /// The type of the order, defined by the shop.
        #[sample = "delivery"] #[filtered]
        kind as "type": Option<Line<50>>,
        /// The driver who carries the order.
        #[write_only] #[filtered]
        driver_id as "driver" or "driver_uuid" or "driver_id" or "driver_assigned": Option<Link<Driver>>,
        /// The customer who placed the order.
        #[sample = "customer_01h455vb4pex5vsknk084sn02q"] #[filtered]
        customer_id as "customer": Option<Reference<CustomerId>>,
        /// The mail address of whoever placed the order without an account. A customer who proves it sees and follows the order.
        #[sample = "grace@example.com"]
        contact_email: Option<EmailAddress>,
        /// The phone number of whoever placed the order without an account. A customer who proves it sees and follows the order.
        #[sample = "+12015550188"]
        contact_phone: Option<PhoneNumber>,
        /// The vehicle that carries the order.
        #[filtered]
        vehicle_id as "vehicle": Option<Link<Vehicle>>,
        /// Notes for the driver.
        #[sample = "Ring twice."] #[searched]
        notes: Option<Text<2000>>,
        /// Whether the order may start without having been dispatched.
        skip_dispatch: bool,
        /// The time at which the order should be carried.
        scheduled_at: Option<Instant>,
        /// Free-form data of the shop.
        meta: Meta,
    }
    by_hand {
        /// The pickup and the drop-off address.
        payload: Payload = |order| [order.pickup.clone(), order.dropoff.clone()],
    }
    read_only {
        /// The number that the recipient tracks the order with.
        #[sample = "7KQ2M9XD4T1B"] #[filtered] #[searched]
        tracking_number: ShipmentNumber,
        /// When the order was dispatched to its driver.
        dispatched_at: Option<Instant>,
        /// When the trip started.
        started_at: Option<Instant>,
        /// When the order was delivered.
        completed_at: Option<Instant>,
        /// When the order was cancelled.
        cancelled_at: Option<Instant>,
        /// When the delivery failed.
        failed_at: Option<Instant>,
    }
    computed {
        /// The driver who carries the order.
        #[accepted]
        driver_assigned: Option<Contact>,
    }
    hidden {
        /// The pickup address.
        #[searched]
        pickup: Option<String>,
        /// The drop-off address.
        #[searched]
        dropoff: Option<String>,
    }
}

crate::events! {
    /// The events about orders.
    pub const EVENTS {
        /// New order placed.
        CREATED = "order.created", |order| order.always("status", "created");
        /// Any field of an order changed.
        UPDATED = "order.updated", |order| order.with("notes", "Ring three times.");
        /// A driver was assigned to the order.
        DRIVER_ASSIGNED = "order.driver_assigned", |order| order.known("driver_assigned", Contact::sample());
        /// Order assigned to a driver and dispatched.
        DISPATCHED = "order.dispatched", |order| order
            .always("status", "dispatched")
            .known("driver_assigned", Contact::sample())
            .known("dispatched_at", "2026-05-21T10:15:00.000+00:00");
        /// Driver started the order journey.
        STARTED = "order.started", |order| order
            .always("status", "started")
            .with("driver_assigned", Contact::sample())
            .with("dispatched_at", "2026-05-21T10:05:00.000+00:00")
            .known("started_at", "2026-05-21T10:15:00.000+00:00");
        /// Order delivered.
        COMPLETED = "order.completed", |order| order
            .always("status", "completed")
            .with("driver_assigned", Contact::sample())
            .with("dispatched_at", "2026-05-21T10:02:00.000+00:00")
            .with("started_at", "2026-05-21T10:05:00.000+00:00")
            .known("completed_at", "2026-05-21T10:15:00.000+00:00");
        /// Order cancelled.
        CANCELLED = "order.cancelled", |order| order
            .always("status", "cancelled")
            .known("cancelled_at", "2026-05-21T10:15:00.000+00:00");
        /// The order could not be delivered.
        FAILED = "order.failed", |order| order.always("status", "failed").known("failed_at", "2026-05-21T10:15:00.000+00:00");
        /// Order deleted.
        DELETED = "order.deleted";
    }
}

impl Resource for Order {
    type Id = OrderId;
    type State = Fleet;

    const SINGULAR: &'static str = "order";
    const PLURAL: &'static str = "orders";
    const SEARCH_INDEX: bool = true;
    const AREA: Area = Area::Business;
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::TransitionInvalid];

    async fn present(conn: &mut Connection, orders: &[Record<Self>]) -> Presented {
        let ids: Vec<_> = orders.iter().filter_map(|order| order.fields.driver_id).collect();
        let drivers = drivers::list_contacts(conn, &ids).await?;
        let shown = orders.iter().map(|order| {
            let driver = order.fields.driver_id.and_then(|id| drivers.get(&id));
            let mut shown = order.fields.members();
            shown.insert("driver_assigned".to_owned(), driver.map_or(Value::Null, Contact::show));
            shown
        });
        Ok(shown.collect())
    }
}
