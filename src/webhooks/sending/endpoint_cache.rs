//! The endpoint cache: endpoints with decrypted secrets and prepared headers, kept in memory.
//!
//! The cache is bounded. An endpoint is read again when its subscription has another version.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use quick_cache::sync::Cache;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::SubscriptionId;
use crate::webhooks::engine::claim::ClaimedRow;
use crate::webhooks::sending::endpoint::Endpoint;
use crate::webhooks::sending::queries;

/// Maximum number of cached endpoints; each takes about two kilobytes.
const MAX_CACHED_ENDPOINTS: usize = 2_000;

/// The cache of endpoints. Clones share it.
#[derive(Clone, Debug)]
pub(in crate::webhooks) struct EndpointCache(Arc<Cache<SubscriptionId, Arc<Endpoint>>>);

/// The endpoints of one claim.
pub(in crate::webhooks) type Endpoints = HashMap<SubscriptionId, Arc<Endpoint>>;

impl EndpointCache {
    pub(in crate::webhooks) fn new() -> Self {
        Self(Arc::new(Cache::new(MAX_CACHED_ENDPOINTS)))
    }

    /// Returns the endpoints of the deliveries in `taken`; those that are not cached are read from the database.
    pub(in crate::webhooks) async fn get_or_load(
        &self,
        conn: &mut PgConnection,
        key: &ApplicationKey,
        taken: &[ClaimedRow],
    ) -> Result<Endpoints, sqlx::Error> {
        let (mut endpoints, mut unknown) = (Endpoints::new(), BTreeSet::<Uuid>::new());
        for ClaimedRow { subscription, version, .. } in taken {
            match self.0.get(subscription).filter(|endpoint| endpoint.version == *version) {
                Some(endpoint) => _ = endpoints.insert(*subscription, endpoint),
                None => _ = unknown.insert(subscription.uuid()),
            }
        }
        if !unknown.is_empty() {
            for stored in queries::find_endpoints(conn, &unknown.into_iter().collect::<Vec<_>>()).await? {
                let (subscription, endpoint) = (stored.subscription, Arc::new(Endpoint::open(key, stored)));
                self.0.insert(subscription, Arc::clone(&endpoint));
                endpoints.insert(subscription, endpoint);
            }
        }
        Ok(endpoints)
    }
}
