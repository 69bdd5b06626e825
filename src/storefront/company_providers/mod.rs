//! The identity providers of companies. A provider belongs to a company, or to the deployment (`[[providers.oidc]]`, `[providers.idp_c]`) and
//! so to all companies that have none of the same name. The tokens that a store accepts are therefore those for the apps of its company.
//!
//! Providers are records ([`IdentityProviderRecord`](crate::storefront::resources)); here they are looked up and built. One that cannot be
//! used, because its settings or its secret do not fit the deployment any more, is unavailable: that of the deployment never takes its place.
//!
//! The providers of a company are read once a second at most. A built one is kept by its version, with its keys and its connection; the number
//! that is kept is bounded, and one that is not is built again.

mod client_secret;
mod of_company;
mod queries;

use std::sync::Arc;

use crate::kernel::built_cache::BuiltCache;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::{ApplicationKey, CannotOpen, Destination};
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, IdentityProviderId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::opaque::Opaque;
use crate::kernel::ttl_cache::TtlCache;
use crate::providers::identity::{IdentityProviders, OWN_TIMEOUT, OwnProvider, OwnSettings, SettingsError};
use crate::providers::{InvalidRouteName, RouteName};
use crate::resources::ResourceState;
use crate::webhooks::{CompanyClients, EndpointUrl, NoClient};

pub use client_secret::{ClientSecret, SEALED};
pub use of_company::ProvidersOfCompany;
pub use queries::list_providers;

use of_company::{Offer, Offered};

/// The providers of one company.
pub const MAX_OF_COMPANY: i64 = 20;
/// The companies whose providers are cached.
const MAX_CACHED_COMPANIES: usize = 2_000;
/// The built providers that are kept. Each has up to a few hundred kilobytes of keys, usually two.
const MAX_BUILT: usize = 500;

/// The identity providers of all companies. Clones share them.
#[derive(Clone, Debug)]
pub struct CompanyProviders(Opaque<Shared>);

#[derive(Debug)]
struct Shared {
    pool: Pool,
    clock: Clock,
    key: ApplicationKey,
    lifecycle: Lifecycle,
    deployment: Arc<IdentityProviders>,
    clients: CompanyClients,
    cached: TtlCache<CompanyId, ProvidersOfCompany>,
    built: BuiltCache<IdentityProviderId, i64, Arc<Offer>>,
}

/// The parts that [`CompanyProviders`] are built from.
#[derive(Debug)]
pub struct Parts {
    pub pool: Pool,
    pub clock: Clock,
    pub key: ApplicationKey,
    pub lifecycle: Lifecycle,
    /// The providers of the deployment.
    pub deployment: IdentityProviders,
    /// Makes the clients for addresses that companies name.
    pub clients: CompanyClients,
}

/// A provider as it is stored.
#[derive(Debug)]
pub struct StoredProvider {
    pub id: IdentityProviderId,
    pub version: i64,
    pub name: String,
    pub is_active: bool,
    pub issuers: Vec<String>,
    pub audiences: Vec<String>,
    pub jwks_url: Option<EndpointUrl>,
    pub client_id: Option<String>,
    pub client_secret: Option<Vec<u8>>,
    pub token_url: Option<EndpointUrl>,
    pub graph_url: Option<EndpointUrl>,
}

impl StoredProvider {
    /// Where the client secret is sent. It is sealed for that alone.
    pub fn destination(&self) -> Destination {
        client_secret::destination(self.token_url.as_ref(), self.graph_url.as_ref())
    }
}

/// Why a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// Its name is none.
    #[error(transparent)]
    Name(#[from] InvalidRouteName),
    /// Its settings do not fit each other, or not the deployment.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Its secret was sealed for other addresses or under another application key.
    #[error("the client secret cannot be decrypted")]
    Secret(#[from] CannotOpen),
    /// Its addresses may not be connected to.
    #[error(transparent)]
    Client(#[from] NoClient),
}

impl ResourceState for CompanyProviders {
    fn pool(&self) -> &Pool {
        &self.0.pool
    }

    fn clock(&self) -> &Clock {
        &self.0.clock
    }
}

impl CompanyProviders {
    /// Reads and builds providers when they are asked for.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, key, lifecycle, deployment, clients } = parts;
        let deployment = Arc::new(deployment);
        let (cached, built) = (TtlCache::new(MAX_CACHED_COMPANIES), BuiltCache::new(MAX_BUILT));
        Self(Opaque::new(Shared { pool, clock, key, lifecycle, deployment, clients, cached, built }))
    }

    /// Evicts the providers of a company, after this instance has changed one of them.
    pub fn forget(&self, company: CompanyId) {
        self.0.cached.invalidate(&company);
    }

    /// The key that client secrets are sealed with.
    pub fn key(&self) -> &ApplicationKey {
        &self.0.key
    }

    /// Makes the clients for addresses that companies name.
    pub fn clients(&self) -> &CompanyClients {
        &self.0.clients
    }

    /// The providers that the stores of a company offer.
    pub async fn of(&self, company: CompanyId) -> Result<Arc<ProvidersOfCompany>, sqlx::Error> {
        let read = || async {
            let stored = list_providers(&mut self.0.pool.acquire().await?, company).await?;
            let own = stored.into_iter().map(|stored| self.built(company, stored)).collect();
            Ok(ProvidersOfCompany::new(own, Arc::clone(&self.0.deployment)))
        };
        self.0.cached.get_or_read(company, self.0.clock.now(), read).await
    }

    fn built(&self, company: CompanyId, stored: StoredProvider) -> Arc<Offer> {
        let (id, version) = (stored.id, stored.version);
        self.0.built.get_or_build(id, &version, || {
            let offered = if stored.is_active { self.build(company, &stored).map(Offered::Active) } else { Ok(Offered::Inactive) };
            let offered = offered.unwrap_or_else(|error| {
                tracing::warn!(provider = %id, error = chain(&error), "an identity provider of a company cannot be used");
                Offered::Unusable
            });
            Arc::new(Offer { name: stored.name, offered })
        })
    }

    /// Builds a provider from what is stored, or says why it cannot be used. Nothing is requested.
    pub fn build(&self, company: CompanyId, stored: &StoredProvider) -> Result<OwnProvider, Unusable> {
        let Shared { key, deployment, clients, clock, lifecycle, .. } = &*self.0;
        let name = RouteName::try_from(stored.name.clone())?;
        deployment.check_own_name(&name)?;
        let opened = |sealed: &[u8]| ClientSecret::open(key, stored.id, &stored.destination(), sealed);
        let secret = stored.client_secret.as_deref().map(opened).transpose()?;
        let urls = [&stored.jwks_url, &stored.token_url, &stored.graph_url];
        let safe = clients.client(company, urls.into_iter().flatten(), OWN_TIMEOUT)?;
        let url = |url: &Option<EndpointUrl>| url.as_ref().map(EndpointUrl::url);
        let settings = OwnSettings {
            issuers: stored.issuers.clone(),
            audiences: stored.audiences.clone(),
            jwks_url: url(&stored.jwks_url),
            client_id: stored.client_id.clone(),
            client_secret: secret.map(ClientSecret::into_text),
            token_url: url(&stored.token_url),
            graph_url: url(&stored.graph_url),
        };
        Ok(deployment.of_company(&name, &settings, safe, clock, lifecycle)?)
    }
}
