//! The fleet: orders, the drivers and vehicles that carry them, tracking for recipients, and issues (`fleet/int/v1`).
//!
//! Each kind of record writes its own table through [`crate::resources`]. Creating an order also creates its tracking number, and every
//! status the order reaches creates a tracking status, in the transaction of the order. Changes are published as events; this module
//! does not know the subscribers.
//!
//! A change that references another record holds a lock on it until the commit, and records that others need cannot be deleted: no
//! order has a deleted driver. Locks are always taken in the same order, so that changes do not deadlock: an order before its
//! driver or vehicle, a vehicle before its driver, and a driver or vehicle before its fleet. The only exception is two fleets that
//! are made parts of each other concurrently. Postgres detects that deadlock, and one of the two requests must be retried.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! changes                   what follows from a change: its events, further records, and what prevents a deletion
//! positions                 the fast path for the location reports of drivers and vehicles
//! issues  proofs  tracking  what is recorded about an order
//! orders                    from the placing to the delivery
//! vehicles                  what carries orders
//! drivers                   who carries orders
//! fleets                    groups of drivers and vehicles
//! location                  the fields of a location
//! state                     the pool and the clock
//! ```

mod changes;
pub mod drivers;
pub mod fleets;
pub mod issues;
mod location;
pub mod orders;
mod positions;
pub mod proofs;
mod state;
pub mod tracking;
pub mod vehicles;

use axum::extract::FromRef;
use axum::http::Method;

use crate::companies::Companies;
use crate::fleet::drivers::Driver;
use crate::fleet::fleets::FleetRecord;
use crate::fleet::issues::Issue;
use crate::fleet::orders::Order;
use crate::fleet::positions::{track, track_doc, track_many, track_many_doc};
use crate::fleet::proofs::Proof;
use crate::fleet::tracking::{TrackingNumber, TrackingStatus};
use crate::fleet::vehicles::Vehicle;
use crate::resources::{Extension, Operation};

pub use positions::Positions;
pub use state::Fleet;

/// The extension `fleet/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Fleet: FromRef<S>,
    Positions: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("fleet")
        .editable::<Order>()
        .editable::<Driver>()
        .route(Method::POST, "/drivers/{uuid}/track", track_doc::<Driver>(), track::<Driver>)
        .route(Method::POST, "/drivers/track", track_many_doc::<Driver>(), track_many::<Driver>)
        .editable::<Vehicle>()
        .route(Method::POST, "/vehicles/{uuid}/track", track_doc::<Vehicle>(), track::<Vehicle>)
        .route(Method::POST, "/vehicles/track", track_many_doc::<Vehicle>(), track_many::<Vehicle>)
        .editable::<FleetRecord>()
        .editable::<Issue>()
        .editable::<Proof>()
        .with_operations::<TrackingNumber>(&[Operation::Change])
        .with_operations::<TrackingStatus>(&[Operation::Create, Operation::Change])
}
