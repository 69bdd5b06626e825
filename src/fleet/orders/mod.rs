//! Orders: what is brought from one place to another, by whom, and how far it has come.
//!
//! The columns and what is shown of them stand here, [`status`] says where an order may go, `body` what a request may do to one, and
//! `changes` what a change of one means to others.
//!
//! A driver and a vehicle are other records of the fleet and checked. A customer is an id that the shop gives and we repeat: customers
//! are a part on the same floor, which this one does not know, and an order outlives its customer's account.

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
use crate::members;
use crate::resources::{Filter, Meta, Record, Resource};

/// Whether an order counts on its driver and vehicle, as a condition of SQL.
pub(super) const IS_OPEN: &str = "status in ('created', 'dispatched', 'started')";

pub use following::{Carrier, export_orders, is_order_of, is_served_by};

crate::columns! {
    /// An order.
    #[derive(Default)]
    pub struct Order {
        /// How far it has come.
        pub status: Status,
        /// It may start without having been dispatched.
        pub skip_dispatch: bool,
        /// What its recipient follows it by.
        pub tracking_number: String,
        /// The shop's own name for it.
        pub internal_id: Option<String>,
        /// What the shop calls this kind of order (`type` outside).
        pub kind: Option<String>,
        /// Who carries it.
        pub driver_id: Option<DriverId>,
        /// Who ordered.
        pub customer_id: Option<CustomerId>,
        /// What it is carried in.
        pub vehicle_id: Option<VehicleId>,
        /// Where it is fetched.
        pub pickup: Option<String>,
        /// Where it is brought.
        pub dropoff: Option<String>,
        /// What its driver should know.
        pub notes: Option<String>,
        /// When it should be carried.
        pub scheduled_at: Option<DateTime<Utc>>,
        /// When it was given to its driver.
        pub dispatched_at: Option<DateTime<Utc>>,
        /// When the journey began.
        pub started_at: Option<DateTime<Utc>>,
        /// When it was delivered.
        pub completed_at: Option<DateTime<Utc>>,
        /// When it was called off.
        pub cancelled_at: Option<DateTime<Utc>>,
        /// When delivering it failed.
        pub failed_at: Option<DateTime<Utc>>,
        /// What the shop keeps with it.
        pub meta: Meta,
    }
}

impl Resource for Order {
    type Id = OrderId;
    type Room = Fleet;

    const SINGULAR: &'static str = "order";
    const PLURAL: &'static str = "orders";
    const FILTERS: &'static [Filter] = &[
        Filter::word::<Status>("status"),
        Filter::id::<DriverId>("driver").on("driver_id"),
        Filter::id::<CustomerId>("customer").on("customer_id"),
        Filter::id::<VehicleId>("vehicle").on("vehicle_id"),
        Filter::text("type").on("kind"),
        Filter::text("internal_id"),
        Filter::text("tracking_number"),
    ];
    const SEARCH: &'static [&'static str] = &["internal_id", "tracking_number", "pickup", "dropoff", "notes"];

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
