//! The fleet: orders, the drivers and vehicles that carry them, what a recipient can follow, and what went wrong (`fleet/int/v1`).
//!
//! Each part writes its own table through [`crate::resources`]: [`orders`], [`drivers`], [`vehicles`], [`fleets`], [`issues`], [`proofs`];
//! [`tracking`] writes `tracking_numbers` and `tracking_statuses`. An order brings its tracking number with it, and a tracking status
//! for every status it reaches, in the transaction of the order itself. [`location`] is how drivers and vehicles report where they are.
//! What happens is told as events; nobody here knows who listens.
//!
//! A record that names another holds it until the change is committed, and what others need is not deleted: no order has a driver who is
//! gone. Where an order and a driver or vehicle are both needed, the order's row is locked first; a vehicle's before its driver's, and a
//! member's before its fleet's: so no two changes wait for each other. The one pair that can, two fleets that are made parts of each other
//! at once, is told apart by Postgres, and one of the two is asked to try again.

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
use crate::resources::{Extension, Operation, Room};

/// What the fleet's routes need.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The database.
    pub pool: PgPool,
    /// The time.
    pub clock: Clock,
}

impl Room for Fleet {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Everything below `fleet/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Fleet: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("fleet")
        .editable::<Order>()
        .editable::<Driver>()
        .beside(Method::POST, "/drivers/{uuid}/track", "Say where a driver is.", location::track::<Driver>)
        .beside(Method::POST, "/drivers/track", "Say where many drivers are.", location::track_many::<Driver>)
        .editable::<Vehicle>()
        .beside(Method::POST, "/vehicles/{uuid}/track", "Say where a vehicle is.", location::track::<Vehicle>)
        .beside(Method::POST, "/vehicles/track", "Say where many vehicles are.", location::track_many::<Vehicle>)
        .editable::<FleetRecord>()
        .editable::<Issue>()
        .editable::<Proof>()
        .offering::<TrackingNumber>(&[Operation::Change])
        .offering::<TrackingStatus>(&[Operation::Create, Operation::Change])
}
