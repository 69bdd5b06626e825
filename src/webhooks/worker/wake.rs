//! Waking the dispatcher: what the listener and the recorder tell it.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::kernel::ids::SubscriptionId;

/// What there may be to do.
#[derive(Debug, Default)]
pub struct Wake {
    pub published: AtomicBool,
    /// A notification announced the events. Other transactions that committed at the same moment may not have notified.
    pub notified: AtomicBool,
    /// The endpoints with deliveries that ended since the last call of `take_ended`.
    ended: Mutex<HashSet<SubscriptionId>>,
    /// Some of these deliveries were ordered, so the next one of their chain can be claimed.
    pub ended_in_order: AtomicBool,
    /// Endpoints are no longer paused, so anything may be due in any lane.
    pub resumed: AtomicBool,
    /// The endpoints that the recorder refills.
    pub refillable: Mutex<HashSet<SubscriptionId>>,
    pub notify: Notify,
}

impl Wake {
    /// Signals that events were committed.
    pub fn published(&self) {
        self.published.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Signals that a notification announced committed events.
    pub fn notified(&self) {
        self.notified.store(true, Ordering::Release);
        self.published();
    }

    /// Signals that attempts at these endpoints are recorded and there is capacity for other deliveries.
    pub fn ended(&self, endpoints: impl Iterator<Item = SubscriptionId>) {
        let mut ended = lock(&self.ended);
        ended.extend(endpoints);
        if !ended.is_empty() {
            self.notify.notify_one();
        }
    }

    /// Signals that a delivery ended that others may have waited behind.
    pub fn ended_in_order(&self) {
        self.ended_in_order.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Signals that endpoints were resumed.
    pub fn resumed(&self) {
        self.resumed.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Those of `endpoints` that can be refilled.
    pub fn refillable(&self, endpoints: impl Iterator<Item = SubscriptionId>) -> BTreeSet<SubscriptionId> {
        let refillable = lock(&self.refillable);
        endpoints.filter(|endpoint| refillable.contains(endpoint)).collect()
    }

    pub fn take_ended(&self) -> HashSet<SubscriptionId> {
        std::mem::take(&mut *lock(&self.ended))
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
