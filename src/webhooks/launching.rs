//! Who sends what is claimed outside of the worker: the worker of this instance, from its first heartbeat until it stops.
//!
//! A publisher that takes deliveries into flight hands them over here. It does not know the worker, and an instance may have none.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

use crate::kernel::ids::DeliveryId;
use crate::webhooks::Claimed;
use crate::webhooks::permits::Taken;

/// Sends claimed deliveries. While somebody holds it, its worker does not end, and gives signs of life.
pub trait Launch: Send + Sync {
    /// Sends deliveries that were claimed in the name of this worker. There is a permit for each; unused permits are released.
    fn launch(self: Arc<Self>, claimed: Vec<Claimed>, permits: Taken);

    /// Returns deliveries to the queue that may have been claimed in the name of this worker, and of which nothing is sent.
    fn give_back(self: Arc<Self>, deliveries: Vec<DeliveryId>);
}

/// The worker that runs, if there is one.
#[derive(Default)]
pub struct Launching(Mutex<Option<Running>>);

struct Running {
    /// It ends with its worker.
    launcher: Weak<dyn Launch>,
    stopping: CancellationToken,
}

impl Launching {
    /// From now on this one sends, until `stopping` is cancelled.
    pub fn begin(&self, launcher: Weak<dyn Launch>, stopping: CancellationToken) {
        *self.running() = Some(Running { launcher, stopping });
    }

    /// Whoever sends now. `None` if no worker runs, or if it stops and takes nothing more.
    pub fn launcher(&self) -> Option<Arc<dyn Launch>> {
        let running = self.running();
        let Running { launcher, stopping } = running.as_ref()?;
        if stopping.is_cancelled() { None } else { launcher.upgrade() }
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Launching {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Launching").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Launch for Nobody {
        fn launch(self: Arc<Self>, _: Vec<Claimed>, _: Taken) {}
        fn give_back(self: Arc<Self>, _: Vec<DeliveryId>) {}
    }

    #[test]
    fn a_worker_that_stops_or_has_ended_takes_nothing() {
        let (launching, worker, stopping) = (Launching::default(), Arc::new(Nobody), CancellationToken::new());
        assert!(launching.launcher().is_none());
        let launcher = Arc::downgrade(&worker);
        launching.begin(launcher, stopping.clone());
        assert!(launching.launcher().is_some());
        stopping.cancel();
        assert!(launching.launcher().is_none());
        let launcher = Arc::downgrade(&worker);
        launching.begin(launcher, CancellationToken::new());
        assert!(launching.launcher().is_some());
        drop(worker);
        assert!(launching.launcher().is_none());
    }
}
