//! Rate limits per minute, counted in memory by each instance, so that one caller cannot use up the capacity of all others.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use crate::kernel::limit_key::{LimitKey, of_larger};
use crate::kernel::rate_limit::RateLimitStatus;

type Limiter<K> = RateLimiter<K, DefaultKeyedStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// A rate limit for each caller, identified by `K`, and for the larger network of a client. Clones share the counters.
#[derive(Clone, Debug)]
pub struct LocalRateLimiter<K: LimitKey> {
    callers: Buckets<K>,
    larger: Buckets<K>,
}

/// A bucket of the same size for each key.
#[derive(Clone, Debug)]
struct Buckets<K: LimitKey> {
    limiter: Arc<Limiter<K>>,
    limit: NonZeroU32,
}

impl<K: LimitKey> LocalRateLimiter<K> {
    /// Allows `requests_per_minute` per caller, in bursts of up to the same number.
    pub fn new(requests_per_minute: NonZeroU32) -> Self {
        Self { callers: Buckets::new(requests_per_minute), larger: Buckets::new(of_larger(requests_per_minute)) }
    }

    /// Counts a request of `caller`. What is refused here is not counted for the larger network.
    pub fn hit(&self, caller: K) -> RateLimitStatus {
        let status = self.callers.hit(&caller);
        let Some(larger) = caller.larger().filter(|_| status.allowed) else { return status };
        let status_of_larger = self.larger.hit(&larger);
        if status_of_larger.allowed { status } else { status_of_larger }
    }

    /// Removes callers without requests in the last minute, so that memory use depends only on recent callers.
    pub fn sweep(&self) {
        self.callers.sweep();
        self.larger.sweep();
    }
}

impl<K: LimitKey> Buckets<K> {
    fn new(limit: NonZeroU32) -> Self {
        let limiter = RateLimiter::dashmap(Quota::per_minute(limit)).with_middleware::<StateInformationMiddleware>();
        Self { limiter: Arc::new(limiter), limit }
    }

    fn hit(&self, caller: &K) -> RateLimitStatus {
        // One request is regained per interval; a full bucket takes a minute.
        let one = Duration::from_secs(60) / self.limit.get();
        match self.limiter.check_key(caller) {
            Ok(state) => {
                let remaining = state.remaining_burst_capacity();
                let reset = one * (self.limit.get() - remaining);
                RateLimitStatus { limit: self.limit.get(), remaining, reset, allowed: true }
            }
            Err(refused) => {
                let reset = refused.wait_time_from(DefaultClock::default().now());
                RateLimitStatus { limit: self.limit.get(), remaining: 0, reset, allowed: false }
            }
        }
    }

    fn sweep(&self) {
        self.limiter.retain_recent();
        self.limiter.shrink_to_fit();
    }
}
