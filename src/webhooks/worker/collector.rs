//! The collector: keeps what publishers take into flight, for tests that send it by themselves.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::kernel::ids::DeliveryId;
use crate::webhooks::launching::Launch;
use crate::webhooks::permits::Taken;
use crate::webhooks::{Claimed, Webhooks};

#[derive(Debug, Default)]
struct Collector(Mutex<Vec<Claimed>>);

impl Collector {
    fn collected(&self) -> MutexGuard<'_, Vec<Claimed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Launch for Collector {
    /// The permits are released: nothing that tests send holds any.
    fn launch(self: Arc<Self>, claimed: Vec<Claimed>, _: Taken) {
        self.collected().extend(claimed);
    }

    /// Nothing is given back, and the leases end, as those of a worker that has died do.
    fn give_back(self: Arc<Self>, _: Vec<DeliveryId>) {}
}

impl Webhooks {
    /// Does `work`, and returns the deliveries that publishers have taken into flight meanwhile; pass them to [`Webhooks::send_and_record`].
    /// Afterwards all events go by the outbox again. Tests use this instead of a running worker.
    pub async fn launched_during(&self, work: impl Future<Output = ()>) -> Vec<Claimed> {
        let collector = Arc::new(Collector::default());
        let launcher = Arc::downgrade(&collector);
        self.launching.begin(launcher, CancellationToken::new());
        // Boxed: a large future would otherwise have its size twice here.
        Box::pin(work).await;
        mem::take(&mut *collector.collected())
    }
}
