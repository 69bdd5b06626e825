//! Orders: deliveries from one place to another, their driver and their status.
//!
//! This file has the columns and their JSON form. [`status`] defines the status transitions, `body` the requests that create and
//! change orders, and `changes` the events and consequences of a change.
//!
//! A driver and a vehicle are records of the fleet, and references to them are checked. A customer is an id that the shop supplies
//! and that is not checked: customers belong to a module on the same layer, which this one does not depend on, and an order
//! outlives its customer's account.

mod body;
mod changes;
mod documentation;
mod following;
mod queries;
pub mod status;

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::fleet::Fleet;
use crate::fleet::orders::queries::DriverRow;
use crate::fleet::orders::status::Status;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{CustomerId, DriverId, OrderId, VehicleId};
use crate::kernel::problem::ProblemCode;
use crate::members;
use crate::resources::{Filter, Meta, Record, Resource};

/// The SQL condition for open orders, which need their driver and vehicle.
pub(super) const IS_OPEN: &str = "status in ('created', 'dispatched', 'started')";

pub use following::{Carrier, is_order_of, is_served_by};

crate::columns! {
    /// An order.
    #[derive(Default)]
    pub struct Order {
        /// The status.
        pub status: Status,
        /// Whether the order may start without having been dispatched.
        pub skip_dispatch: bool,
        /// The number that the recipient tracks the order with.
        pub tracking_number: String,
        /// The shop's own id of the order.
        pub internal_id: Option<String>,
        /// The type of the order, defined by the shop (`type` in JSON).
        pub kind: Option<String>,
        /// The driver who carries the order.
        pub driver_id: Option<DriverId>,
        /// The customer who placed the order.
        pub customer_id: Option<CustomerId>,
        /// The vehicle that carries the order.
        pub vehicle_id: Option<VehicleId>,
        /// The pickup address.
        pub pickup: Option<String>,
        /// The drop-off address.
        pub dropoff: Option<String>,
        /// Notes for the driver.
        pub notes: Option<String>,
        /// The time at which the order should be carried.
        pub scheduled_at: Option<DateTime<Utc>>,
        /// When the order was dispatched to its driver.
        pub dispatched_at: Option<DateTime<Utc>>,
        /// When the trip started.
        pub started_at: Option<DateTime<Utc>>,
        /// When the order was delivered.
        pub completed_at: Option<DateTime<Utc>>,
        /// When the order was cancelled.
        pub cancelled_at: Option<DateTime<Utc>>,
        /// When the delivery failed.
        pub failed_at: Option<DateTime<Utc>>,
        /// Free-form data of the shop.
        pub meta: Meta,
    }
}

impl Resource for Order {
    type Id = OrderId;
    type State = Fleet;

    const SINGULAR: &'static str = "order";
    const PLURAL: &'static str = "orders";
    const FILTERS: &'static [Filter] = &[
        Filter::text_enum::<Status>("status"),
        Filter::id::<DriverId>("driver").on("driver_id"),
        Filter::id::<CustomerId>("customer").on("customer_id"),
        Filter::id::<VehicleId>("vehicle").on("vehicle_id"),
        Filter::text("type").on("kind"),
        Filter::text("internal_id"),
        Filter::text("tracking_number"),
    ];
    const SEARCH: &'static [&'static str] = &["internal_id", "tracking_number", "pickup", "dropoff", "notes"];
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::TransitionInvalid];

    async fn present(conn: &mut PgConnection, orders: &[Record<Self>]) -> Result<Vec<Map<String, Value>>, sqlx::Error> {
        let ids: Vec<_> = orders.iter().filter_map(|order| order.fields.driver_id).collect();
        let drivers = queries::list_drivers(conn, &ids).await?;
        Ok(orders.iter().map(|order| order.fields.members(&drivers)).collect())
    }
}

impl Order {
    fn members(&self, drivers: &HashMap<DriverId, DriverRow>) -> Map<String, Value> {
        let driver = self.driver_id.and_then(|id| drivers.get(&id));
        members! {
            "status": self.status,
            "tracking_number": self.tracking_number,
            "internal_id": self.internal_id,
            "type": self.kind,
            "driver_assigned": driver.map(|driver| members! {
                "id": driver.id, "uuid": driver.id.uuid(), "name": driver.name, "phone": driver.phone,
            }),
            "customer": self.customer_id,
            "vehicle": self.vehicle_id,
            "payload": { "pickup": self.pickup, "dropoff": self.dropoff },
            "notes": self.notes,
            "skip_dispatch": self.skip_dispatch,
            "scheduled_at": self.scheduled_at.map(timestamp),
            "dispatched_at": self.dispatched_at.map(timestamp),
            "started_at": self.started_at.map(timestamp),
            "completed_at": self.completed_at.map(timestamp),
            "cancelled_at": self.cancelled_at.map(timestamp),
            "failed_at": self.failed_at.map(timestamp),
            "meta": self.meta,
        }
    }
}
