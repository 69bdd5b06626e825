//! Companies and their API keys, which grant access to the extension routes; and their accounts at payment [`gateways`].
//!
//! Writes `companies` and `api_keys`. A [`CallingCompany`] as a handler parameter proves that the request has a valid API key;
//! [`CallingCompany::require_scope`] checks its scope. Keys are stored as SHA-256 digests and shown only once
//! (`docs/specification/decisions.md`, section 2). A live key is cached for one second. Scopes, allowed networks and expiry of a
//! key are its [`Grant`]; a key cannot create another key whose grant exceeds its own.

mod access;
mod allowed_networks;
mod api_key;
pub mod gateways;
mod grant;
mod queries;
mod scopes;

use std::num::NonZeroU32;

use chrono::{DateTime, Utc};
use ipnet::IpNet;
use sqlx::{PgConnection, PgPool};

use crate::companies::access::KnownKey;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CompanyId, KeyId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::rate_limit::FailureLimiter;
use crate::kernel::ttl_cache::TtlCache;

pub use access::{CallingCompany, bearer};
pub use allowed_networks::{AllowedNetworks, InvalidNetworks};
pub use api_key::ApiKey;
pub use grant::{Escalation, Grant};
pub use queries::{company_of_key, list_companies, lock, revoke_api_key};
pub use scopes::{InvalidScope, Scope, Scopes};

/// The maximum number of cached API keys.
const MAX_CACHED_KEYS: usize = 2_000;
/// The maximum number of requests with unknown API keys per minute and client network.
const UNKNOWN_KEYS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("600 is not zero");

/// The state that the extractor needs.
#[derive(Clone, Debug)]
pub struct Companies {
    pool: PgPool,
    clock: Clock,
    /// Tracks the writes outside of the request path.
    lifecycle: Lifecycle,
    /// The cache of live keys, by digest.
    keys: TtlCache<[u8; 32], KnownKey>,
    /// Limits requests with unknown API keys, per client network.
    unknown_keys: FailureLimiter<IpNet>,
}

impl Companies {
    /// Builds the state.
    pub fn new(pool: PgPool, clock: Clock, lifecycle: Lifecycle) -> Self {
        Self { pool, clock, lifecycle, keys: TtlCache::new(MAX_CACHED_KEYS), unknown_keys: FailureLimiter::new(UNKNOWN_KEYS_PER_MINUTE) }
    }

    /// Evicts all cached API keys, after this instance has changed some of them.
    pub fn forget_keys(&self) {
        self.keys.invalidate_all();
    }

    /// Removes the networks that have sent no unknown API key in the last minute. A periodic task calls it about once a minute.
    pub fn sweep(&self) {
        self.unknown_keys.sweep();
    }
}

/// The reason why an API key could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateKeyError {
    /// The company does not exist.
    #[error("there is no company {0}")]
    CompanyUnknown(CompanyId),
    /// A database error.
    #[error("the key could not be stored")]
    Database(#[from] sqlx::Error),
}

/// Creates a company.
pub async fn create_company(conn: &mut PgConnection, name: &str, now: DateTime<Utc>) -> Result<CompanyId, sqlx::Error> {
    let id = CompanyId::new(now);
    queries::insert_company(conn, id, name, now).await?;
    Ok(id)
}

/// Whether the company exists.
pub async fn company_exists(conn: &mut PgConnection, id: CompanyId) -> Result<bool, sqlx::Error> {
    queries::company_exists(conn, id).await
}

/// Creates an API key of `company`. The key itself is only available in the return value.
pub async fn create_api_key(
    conn: &mut PgConnection,
    company: CompanyId,
    name: &str,
    grant: impl Into<Grant>,
    now: DateTime<Utc>,
) -> Result<(KeyId, ApiKey), CreateKeyError> {
    let (id, key) = (KeyId::new(now), ApiKey::generate());
    match queries::insert_api_key(conn, id, company, name, &key.digest(), &grant.into(), now).await? {
        true => Ok((id, key)),
        false => Err(CreateKeyError::CompanyUnknown(company)),
    }
}
