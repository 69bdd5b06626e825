//! Waking the tasks that fan out and claim: what the listener, the recorders and they themselves tell each other.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::kernel::ids::SubscriptionId;
use crate::webhooks::worker::shortcut::Shortcut;

/// What there may be to do.
#[derive(Debug, Default)]
pub struct Wake {
    /// Wakes the dispatcher.
    pub outbox: Notify,
    published: AtomicBool,
    /// A notification announced the events. Other transactions that committed at the same moment may not have notified.
    notified: AtomicBool,
    /// Wakes the claimer.
    pub lanes: Notify,
    /// Deliveries wait for their first attempt: new ones, or those that waited for another one of their chain.
    queued: AtomicBool,
    /// Endpoints are no longer paused, so anything may be due in any lane.
    resumed: AtomicBool,
    /// The endpoints with deliveries that ended since the last call of `take_ended`.
    ended: Mutex<HashSet<SubscriptionId>>,
    /// Wakes who claims without walking through the lanes.
    pub shortcut: Shortcut,
    /// The endpoints that the recorders refill.
    refillable: Mutex<HashSet<SubscriptionId>>,
}

impl Wake {
    /// Signals that events were committed.
    pub fn published(&self) {
        self.published.store(true, Ordering::Release);
        self.outbox.notify_one();
    }

    /// Signals that a notification announced committed events.
    pub fn notified(&self) {
        self.notified.store(true, Ordering::Release);
        self.published();
    }

    pub fn take_published(&self) -> bool {
        self.published.swap(false, Ordering::Acquire)
    }

    pub fn take_notified(&self) -> bool {
        self.notified.swap(false, Ordering::Acquire)
    }

    /// Signals that fan-out has queued deliveries, some of them for these endpoints. Nothing is refilled before they are looked at.
    pub fn queued(&self, endpoints: Vec<SubscriptionId>) {
        self.shortcut.queued(endpoints);
        lock(&self.refillable).clear();
        self.fresh();
    }

    /// Signals that a delivery ended that others may have waited behind.
    pub fn ended_in_order(&self) {
        self.fresh();
    }

    fn fresh(&self) {
        self.queued.store(true, Ordering::Release);
        self.lanes.notify_one();
    }

    pub fn take_queued(&self) -> bool {
        self.queued.swap(false, Ordering::Acquire)
    }

    /// Signals that endpoints were resumed.
    pub fn resumed(&self) {
        self.resumed.store(true, Ordering::Release);
        self.lanes.notify_one();
    }

    pub fn take_resumed(&self) -> bool {
        self.resumed.swap(false, Ordering::Acquire)
    }

    /// Signals that attempts at these endpoints are recorded and there is capacity for other deliveries.
    pub fn ended(&self, endpoints: Vec<SubscriptionId>) {
        self.shortcut.ended(&endpoints);
        let mut ended = lock(&self.ended);
        ended.extend(endpoints);
        if !ended.is_empty() {
            self.lanes.notify_one();
        }
    }

    pub fn take_ended(&self) -> HashSet<SubscriptionId> {
        std::mem::take(&mut *lock(&self.ended))
    }

    /// Lets the recorders refill these endpoints, and no others.
    pub fn refill(&self, endpoints: HashSet<SubscriptionId>) {
        *lock(&self.refillable) = endpoints;
    }

    /// Those of `endpoints` that can be refilled.
    pub fn refillable(&self, endpoints: impl Iterator<Item = SubscriptionId>) -> BTreeSet<SubscriptionId> {
        let refillable = lock(&self.refillable);
        endpoints.filter(|endpoint| refillable.contains(endpoint)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
