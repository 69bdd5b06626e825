//! The cache of gateways with a TTL of one second ([`crate::kernel::recent`]), with their secrets decrypted.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::gateways::Gateways;
use crate::gateways::accounts::{Found, find};
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::kernel::problem::Problem;
use crate::kernel::recent;

/// Maximum number of cached gateways, and of cached companies.
const MOST: usize = 500;

/// Caches active gateways. Clones share the cache.
#[derive(Clone, Debug)]
pub(in crate::gateways) struct Recent {
    by_id: recent::Recent<GatewayId, Found>,
    of_company: recent::Recent<CompanyId, Vec<Arc<Found>>>,
}

impl Recent {
    pub(in crate::gateways) fn new() -> Self {
        Self { by_id: recent::Recent::new(MOST), of_company: recent::Recent::new(MOST) }
    }

    /// Evicts all entries, because this instance has changed gateways.
    pub(in crate::gateways) fn forget_everything(&self) {
        self.by_id.forget_everything();
        self.of_company.forget_everything();
    }
}

impl Gateways {
    /// The active gateway with this id, from the cache or from the database.
    pub(in crate::gateways) async fn find_active(&self, id: GatewayId) -> Result<Option<Arc<Found>>, Problem> {
        let now = self.clock.now();
        match self.recent.by_id.get(&id, now) {
            Some(found) => Ok(Some(found)),
            // Boxed: otherwise the state of the statement would be copied with the future of every request.
            None => Box::pin(self.look_up(id, now)).await,
        }
    }

    async fn look_up(&self, id: GatewayId, now: DateTime<Utc>) -> Result<Option<Arc<Found>>, Problem> {
        let epoch = self.recent.by_id.epoch();
        let found = find::active(&mut *self.pool.acquire().await?, &self.key, id).await?.map(Arc::new);
        if let Some(found) = &found {
            self.recent.by_id.keep(epoch, id, found, now);
        }
        Ok(found)
    }

    /// All active gateways of a company, from the cache or from the database.
    pub(in crate::gateways) async fn find_all_active(&self, company: CompanyId) -> Result<Arc<Vec<Arc<Found>>>, Problem> {
        let now = self.clock.now();
        match self.recent.of_company.get(&company, now) {
            Some(found) => Ok(found),
            None => Box::pin(self.look_up_all(company, now)).await,
        }
    }

    async fn look_up_all(&self, company: CompanyId, now: DateTime<Utc>) -> Result<Arc<Vec<Arc<Found>>>, Problem> {
        let epoch = self.recent.of_company.epoch();
        let found = find::all_active(&mut *self.pool.acquire().await?, &self.key, company).await?;
        let found = Arc::new(found.into_iter().map(Arc::new).collect());
        self.recent.of_company.keep(epoch, company, &found, now);
        Ok(found)
    }
}
