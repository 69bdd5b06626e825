//! The fleet: orders, the drivers and vehicles that carry them, tracking for recipients, and issues (`fleet/int/v1`).
//!
//! Each submodule writes its own table through [`crate::resources`]: [`orders`], [`drivers`], [`vehicles`], [`fleets`], [`issues`],
//! [`proofs`]. [`tracking`] writes `tracking_numbers` and `tracking_statuses`. Creating an order also creates its tracking number,
//! and every status the order reaches creates a tracking status, in the transaction of the order. [`location`] implements the
//! location reports of drivers and vehicles. Changes are published as events; this module does not know the subscribers.
//!
//! A change that references another record holds a lock on it until the commit, and records that others need cannot be deleted: no
//! order has a deleted driver. Locks are always taken in the same order, so that changes do not deadlock: an order before its
//! driver or vehicle, a vehicle before its driver, and a driver or vehicle before its fleet. The only exception is two fleets that
//! are made parts of each other concurrently. Postgres detects that deadlock, and one of the two requests must be retried.

pub mod drivers;
pub mod fleets;
pub mod issues;
mod location;
pub mod orders;
pub mod proofs;
pub mod tracking;
pub mod vehicles;

use axum::extract::FromRef;
use axum::http::Method;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::fleet::drivers::Driver;
use crate::fleet::fleets::FleetRecord;
use crate::fleet::issues::Issue;
use crate::fleet::orders::Order;
use crate::fleet::proofs::Proof;
use crate::fleet::tracking::{TrackingNumber, TrackingStatus};
use crate::fleet::vehicles::Vehicle;
use crate::kernel::clock::Clock;
use crate::resources::{Extension, Operation, ResourceState};

pub use location::Positions;

/// The state of the fleet's routes.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The database.
    pub pool: PgPool,
    /// The clock.
    pub clock: Clock,
}

impl ResourceState for Fleet {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

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
        .route(Method::POST, "/drivers/{uuid}/track", location::track_doc::<Driver>(), location::track::<Driver>)
        .route(Method::POST, "/drivers/track", location::track_many_doc::<Driver>(), location::track_many::<Driver>)
        .editable::<Vehicle>()
        .route(Method::POST, "/vehicles/{uuid}/track", location::track_doc::<Vehicle>(), location::track::<Vehicle>)
        .route(Method::POST, "/vehicles/track", location::track_many_doc::<Vehicle>(), location::track_many::<Vehicle>)
        .editable::<FleetRecord>()
        .editable::<Issue>()
        .editable::<Proof>()
        .with_operations::<TrackingNumber>(&[Operation::Change])
        .with_operations::<TrackingStatus>(&[Operation::Create, Operation::Change])
}
