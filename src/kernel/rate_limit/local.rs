//! Rate limits per minute, counted in memory by each instance, so that one caller cannot use up the capacity of all others.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use crate::kernel::rate_limit::RateLimitStatus;

type Limiter<K> = RateLimiter<K, DefaultKeyedStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// A rate limit for each caller, identified by `K`. Clones share the counters.
#[derive(Clone, Debug)]
pub struct LocalRateLimiter<K: Hash + Eq + Clone> {
    limiter: Arc<Limiter<K>>,
    limit: NonZeroU32,
}

impl<K: Hash + Eq + Clone> LocalRateLimiter<K> {
    /// Allows `requests_per_minute` per caller, in bursts of up to the same number.
    pub fn new(requests_per_minute: NonZeroU32) -> Self {
        let quota = Quota::per_minute(requests_per_minute);
        let limiter = RateLimiter::dashmap(quota).with_middleware::<StateInformationMiddleware>();
        Self { limiter: Arc::new(limiter), limit: requests_per_minute }
    }

    /// Counts a request of `caller`.
    pub fn hit(&self, caller: K) -> RateLimitStatus {
        // One request is regained per interval; a full bucket takes a minute.
        let one = Duration::from_secs(60) / self.limit.get();
        match self.limiter.check_key(&caller) {
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

    /// Removes callers without requests in the last minute, so that memory use depends only on recent callers.
    pub fn sweep(&self) {
        self.limiter.retain_recent();
        self.limiter.shrink_to_fit();
    }
}
