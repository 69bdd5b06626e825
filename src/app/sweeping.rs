//! Removing what has expired, every minute: from the memory of each instance, and from the database by one of its instances.

use std::time::Duration;

use crate::app::AppState;
use crate::kernel::leases::{Lease, TERM};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::steps::{Steps, Unfinished};

/// How often each instance sweeps.
const INTERVAL: Duration = Duration::from_secs(60);
/// For so long after an instance has begun to sweep the database, no other one does. It is less than the interval, so that the next round of the
/// same instance is not a moment too early.
const TURN: Duration = Duration::from_secs(45);

impl AppState {
    /// Sweeps until shutdown.
    pub fn start_sweeping(&self, lifecycle: &Lifecycle) {
        let (state, until) = (self.clone(), lifecycle.clone());
        lifecycle.spawn(async move {
            until.every(INTERVAL, "expired data could not be removed", || state.sweep_in_turn()).await;
        });
    }

    /// Removes what has expired from the memory of this instance, and from the database if no instance has begun to do so a moment ago.
    pub async fn sweep_in_turn(&self) -> Result<(), Unfinished> {
        self.sweep_memory();
        match Lease::take(&self.companies.pool, "sweeping", TERM).await? {
            Some(lease) => lease.once_in(TURN, Box::pin(self.sweep_rows())).await,
            None => Ok(()),
        }
    }

    /// Removes what has expired from the memory of this instance and from the database, whether or not it is its turn.
    pub async fn sweep(&self) -> Result<(), Unfinished> {
        self.sweep_memory();
        Box::pin(self.sweep_rows()).await
    }

    fn sweep_memory(&self) {
        self.companies.sweep();
        self.request_limits.sweep();
        self.gateways.sweep();
        self.storefront.sweep_memory();
        self.operators.sweep_memory();
        self.portal.sweep_memory();
    }

    /// Deletes the rows of every module that have expired.
    async fn sweep_rows(&self) -> Result<(), Unfinished> {
        let mut steps = Steps::on(&self.companies.pool);
        steps.run_apart("storefront", Box::pin(self.storefront.sweep())).await;
        steps.run_apart("publishing_keys", self.publishing.sweep()).await;
        steps.run_apart("changes", self.audit_trail.sweep()).await;
        steps.run_apart("operators", self.operators.sweep()).await;
        steps.run_apart("portal", self.portal.sweep()).await;
        steps.finish()?;
        self.swept.0.set(self.clock.now().timestamp() as f64);
        Ok(())
    }
}
