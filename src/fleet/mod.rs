//! The fleet: orders, the drivers who carry them, and what a recipient can follow (`fleet/int/v1`).
//!
//! [`orders`] writes `orders`, [`drivers`] `drivers`, [`tracking`] `tracking_numbers` and `tracking_statuses`, each through
//! [`crate::resources`]. An order brings its tracking number with it, and a tracking status for every status it reaches, in the
//! transaction of the order itself. What happens is told as events; nobody here knows who listens.
//!
//! Where an order and a driver are both needed, the order's row is locked first: no two changes can wait for each other.

pub mod drivers;
pub mod orders;
pub mod tracking;

use axum::Router;
use axum::extract::FromRef;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::kernel::clock::Clock;
use crate::resources::{self, Room};

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
pub fn routes<S>() -> Router<S>
where
    Fleet: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Router::new()
        .merge(resources::routes::<orders::Order, S>())
        .merge(resources::routes::<drivers::Driver, S>())
        .merge(drivers::track_routes())
        .merge(resources::read_only_routes::<tracking::TrackingNumber, S>())
        .merge(resources::read_only_routes::<tracking::TrackingStatus, S>())
}
