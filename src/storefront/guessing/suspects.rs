//! Networks that have guessed wrong about as often as they may. Each instance remembers those that it has counted itself, so that nobody has to
//! ask the database; the count that it goes by is that of all instances.

use chrono::{DateTime, Utc};
use ipnet::IpNet;
use quick_cache::sync::Cache;

use crate::kernel::ids::StoreId;
use crate::kernel::limit_key::LimitKey;
use crate::kernel::rate_limit::RateLimitStatus;
use crate::storefront::guessing::guess::NETWORK_WINDOW;

/// Each takes about a hundred bytes.
const MAX_REMEMBERED: usize = 20_000;

/// Networks by store, with the time of the latest wrong guess that made them suspicious.
#[derive(Debug)]
pub struct Suspects(Cache<(StoreId, IpNet), DateTime<Utc>>);

impl Suspects {
    pub fn new() -> Self {
        Self(Cache::new(MAX_REMEMBERED))
    }

    /// Whether wrong guesses of the network or of its larger one, within the time in which they count, were half as many as it may make, or more.
    pub fn has(&self, store: StoreId, network: IpNet, now: DateTime<Utc>) -> bool {
        let is_suspicious = |network: IpNet| self.0.get(&(store, network)).is_some_and(|since| now - since < NETWORK_WINDOW);
        is_suspicious(network) || network.larger().is_some_and(is_suspicious)
    }

    /// Looks at the count of a network after a wrong guess.
    pub(super) fn look_at(&self, of: (StoreId, IpNet), RateLimitStatus { limit, remaining, .. }: &RateLimitStatus, now: DateTime<Utc>) {
        if *remaining <= limit / 2 {
            self.0.insert(of, now);
        }
    }
}
