//! What is measured of caches: how many look-ups found what they were for.

use crate::kernel::metrics::{Counter, Registry};

crate::labels! {
    /// Of a look-up.
    pub struct LookUpLabels {
        /// What the cache has.
        pub cache: &'static str,
        /// `hit` or `miss`.
        pub outcome: &'static str,
    }
}

/// The metrics of one cache. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CacheMetrics {
    hits: Counter,
    misses: Counter,
}

impl CacheMetrics {
    /// Counts a look-up.
    pub fn count(&self, hit: bool) {
        if hit {
            self.hits.inc()
        } else {
            self.misses.inc()
        };
    }
}

/// Registers what is measured of these caches.
pub fn register(registry: &mut Registry, caches: &[(&'static str, &CacheMetrics)]) {
    let look_ups = caches.iter().flat_map(|&(cache, metrics)| {
        [("hit", &metrics.hits), ("miss", &metrics.misses)].map(|(outcome, counter)| (LookUpLabels { cache, outcome }, counter.clone()))
    });
    registry.each("portico_cache_look_ups", "Look-ups in caches of the process", look_ups.collect());
}
