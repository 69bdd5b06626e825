//! The endpoint cache: endpoints with decrypted secrets and prepared headers, kept in memory.
//!
//! The cache is bounded. An endpoint is read again when its subscription has another version.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use quick_cache::sync::Cache;
use uuid::Uuid;

use crate::kernel::cache_metrics::CacheMetrics;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Connection;
use crate::kernel::ids::SubscriptionId;
use crate::webhooks::endpoint::Endpoint;
use crate::webhooks::endpoint::queries;

/// Maximum number of cached endpoints; each takes about two kilobytes. Beyond it, some endpoints stay and the others are read again for
/// every claim of their deliveries: one statement for all that the claim does not find.
const MAX_CACHED_ENDPOINTS: usize = 10_000;

/// The cache of endpoints. Clones share it.
#[derive(Clone, Debug)]
pub struct EndpointCache {
    endpoints: Arc<Cache<SubscriptionId, Arc<Endpoint>>>,
    metrics: CacheMetrics,
}

/// The endpoints of one claim.
pub type Endpoints = HashMap<SubscriptionId, Arc<Endpoint>>;

impl EndpointCache {
    pub fn new() -> Self {
        Self { endpoints: Arc::new(Cache::new(MAX_CACHED_ENDPOINTS)), metrics: CacheMetrics::default() }
    }

    /// What is measured of the cache.
    pub fn metrics(&self) -> &CacheMetrics {
        &self.metrics
    }

    /// Returns the endpoints of these subscriptions, given with their versions; those that are not cached are read from the database.
    pub async fn get_or_load(
        &self,
        conn: &mut Connection,
        key: &ApplicationKey,
        versions: impl Iterator<Item = (SubscriptionId, i64)>,
    ) -> Result<Endpoints, sqlx::Error> {
        let (mut endpoints, mut unknown) = (Endpoints::new(), BTreeSet::<Uuid>::new());
        for (subscription, version) in versions {
            let found = self.endpoints.get(&subscription).filter(|endpoint| endpoint.version == version);
            self.metrics.count(found.is_some());
            match found {
                Some(endpoint) => _ = endpoints.insert(subscription, endpoint),
                None => _ = unknown.insert(subscription.uuid()),
            }
        }
        if !unknown.is_empty() {
            for stored in queries::find_endpoints(conn, &unknown.into_iter().collect::<Vec<_>>()).await? {
                let (subscription, endpoint) = (stored.subscription, Arc::new(Endpoint::open(key, stored)));
                self.endpoints.insert(subscription, Arc::clone(&endpoint));
                endpoints.insert(subscription, endpoint);
            }
        }
        Ok(endpoints)
    }
}
