//! The state that authentication needs.

use std::num::NonZeroU32;

use ipnet::IpNet;

use crate::companies::known_key::KnownKey;
use crate::kernel::cache_metrics::CacheMetrics;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::ids::CompanyId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::rate_limit::FailureLimiter;
use crate::kernel::ttl_cache::TtlCache;

const MAX_CACHED_KEYS: usize = 2_000;
/// The maximum number of requests with unknown API keys per minute and client network, and of those with something that no cell knows.
const UNKNOWN_KEYS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("600 is not zero");

/// Authentication by API key.
#[derive(Clone, Debug)]
pub struct Companies {
    /// The database.
    pub pool: Pool,
    /// The clock.
    pub clock: Clock,
    /// Tracks the writes outside of the request path.
    pub(super) lifecycle: Lifecycle,
    /// The cache of live keys, by digest.
    pub(super) keys: TtlCache<[u8; 32], KnownKey>,
    /// Limits requests with unknown API keys, per client network.
    pub(super) unknown_keys: FailureLimiter<IpNet>,
    /// Limits requests with what no cell knows, per client network, if there are several cells. It is the first cell's.
    pub unknown_to_all_cells: FailureLimiter<IpNet>,
}

impl Companies {
    /// `lifecycle` waits for the writes that record the use of keys.
    pub fn new(pool: Pool, clock: Clock, lifecycle: Lifecycle) -> Self {
        let [unknown_keys, unknown_to_all_cells] = [UNKNOWN_KEYS_PER_MINUTE; 2].map(FailureLimiter::new);
        Self { pool, clock, lifecycle, keys: TtlCache::new(MAX_CACHED_KEYS), unknown_keys, unknown_to_all_cells }
    }

    /// The cache by its name.
    pub fn cache_metrics(&self) -> (&'static str, &CacheMetrics) {
        ("api_keys", self.keys.metrics())
    }

    /// Evicts the cached API keys of a company, after this instance has changed one of them.
    pub fn forget_keys(&self, company: CompanyId) {
        self.keys.invalidate_if(|_, key| key.company == company);
    }

    /// Removes the networks that have sent nothing unknown in the last minute. A periodic task calls it about once a minute.
    pub fn sweep(&self) {
        self.unknown_keys.sweep();
        self.unknown_to_all_cells.sweep();
    }
}
