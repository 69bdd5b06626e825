//! The cache of gateways with a TTL of one second ([`crate::kernel::ttl_cache`]), with their secrets decrypted.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::gateways::Gateways;
use crate::gateways::accounts::{CallbackGateway, find};
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::kernel::problem::Problem;
use crate::kernel::ttl_cache::TtlCache;

/// Maximum number of cached gateways, and of cached companies.
const MAX_CACHED_GATEWAYS: usize = 500;

/// Caches active gateways. Clones share the cache.
#[derive(Clone, Debug)]
pub(in crate::gateways) struct GatewayCache {
    by_id: TtlCache<GatewayId, CallbackGateway>,
    of_company: TtlCache<CompanyId, Vec<Arc<CallbackGateway>>>,
}

impl GatewayCache {
    pub(in crate::gateways) fn new() -> Self {
        Self { by_id: TtlCache::new(MAX_CACHED_GATEWAYS), of_company: TtlCache::new(MAX_CACHED_GATEWAYS) }
    }

    /// Evicts all entries, because this instance has changed gateways.
    pub(in crate::gateways) fn invalidate_all(&self) {
        self.by_id.invalidate_all();
        self.of_company.invalidate_all();
    }
}

impl Gateways {
    /// The active gateway with this id, from the cache or from the database.
    pub(in crate::gateways) async fn find_active(&self, id: GatewayId) -> Result<Option<Arc<CallbackGateway>>, Problem> {
        let now = self.clock.now();
        match self.cache.by_id.get(&id, now) {
            Some(found) => Ok(Some(found)),
            // Boxed: otherwise the state of the statement would be copied with the future of every request.
            None => Box::pin(self.look_up(id, now)).await,
        }
    }

    async fn look_up(&self, id: GatewayId, now: DateTime<Utc>) -> Result<Option<Arc<CallbackGateway>>, Problem> {
        let generation = self.cache.by_id.generation();
        let found = find::active(&mut *self.pool.acquire().await?, &self.key, id).await?.map(Arc::new);
        if let Some(found) = &found {
            self.cache.by_id.insert_if_current(generation, id, found, now);
        }
        Ok(found)
    }

    /// All active gateways of a company, from the cache or from the database.
    pub(in crate::gateways) async fn find_all_active(&self, company: CompanyId) -> Result<Arc<Vec<Arc<CallbackGateway>>>, Problem> {
        let now = self.clock.now();
        match self.cache.of_company.get(&company, now) {
            Some(found) => Ok(found),
            None => Box::pin(self.look_up_all(company, now)).await,
        }
    }

    async fn look_up_all(&self, company: CompanyId, now: DateTime<Utc>) -> Result<Arc<Vec<Arc<CallbackGateway>>>, Problem> {
        let generation = self.cache.of_company.generation();
        let found = find::all_active(&mut *self.pool.acquire().await?, &self.key, company).await?;
        let found = Arc::new(found.into_iter().map(Arc::new).collect());
        self.cache.of_company.insert_if_current(generation, company, &found, now);
        Ok(found)
    }
}
