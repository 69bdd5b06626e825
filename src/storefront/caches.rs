//! The storefront's caches. For one second ([`crate::kernel::ttl_cache`]): stores by their key, sessions by their token. As long as there is room:
//! what is derived from the application keys.

use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};

use crate::kernel::built_cache::BuiltCache;
use crate::kernel::crypto::Fingerprint;
use crate::kernel::ids::{CompanyId, CustomerId};
use crate::kernel::ttl_cache::{Generation, TtlCache};
use crate::storefront::customers::LostClaims;
use crate::storefront::stores::Store;
use crate::storefront::tokens::{Session, TokenId};

/// Each takes about one kilobyte.
const MAX_CACHED_SESSIONS: usize = 20_000;
/// The maximum size of `meta` in a cached session, as JSON in bytes. Sessions of customers with a larger `meta` are not cached,
/// because they would take too much memory.
const MAX_CACHED_META_LEN: usize = 256;
const MAX_CACHED_STORES: usize = 2_000;
/// Each takes less than one kilobyte.
const MAX_CACHED_KEY_SETS: usize = 2_000;

/// The digest of a store key.
type KeyDigest = [u8; 32];

/// The key sets of companies as JSON, by the application keys that they are derived from. `None` if one cannot be derived.
pub type KeySets = BuiltCache<CompanyId, Vec<Fingerprint>, Option<Bytes>>;

/// The caches. Clones share them.
#[derive(Clone, Debug)]
pub struct Caches {
    /// Stores by the digest of their key.
    pub stores: TtlCache<KeyDigest, Store>,
    /// Live sessions by the number of their token.
    pub sessions: TtlCache<TokenId, Session>,
    /// What verifies the access tokens of a company.
    pub key_sets: Arc<KeySets>,
}

impl Caches {
    pub fn new() -> Self {
        Self {
            stores: TtlCache::new(MAX_CACHED_STORES),
            sessions: TtlCache::new(MAX_CACHED_SESSIONS),
            key_sets: Arc::new(BuiltCache::new(MAX_CACHED_KEY_SETS)),
        }
    }

    pub fn insert_session(&self, generation: Generation, token: TokenId, session: &Arc<Session>, now: DateTime<Utc>) {
        if session.customer.meta.to_string().len() <= MAX_CACHED_META_LEN {
            self.sessions.insert_if_current(generation, token, session, now);
        }
    }

    /// Evicts the sessions of a customer who has changed, or whose sessions were revoked.
    pub fn invalidate_customer(&self, customer: CustomerId) {
        self.invalidate_customers(&[customer]);
    }

    /// Evicts the accounts that lost a claim. To be called after the commit.
    pub fn invalidate_losers(&self, lost: LostClaims) {
        let losers = lost.into_customers();
        if !losers.is_empty() {
            self.invalidate_customers(&losers);
        }
    }

    fn invalidate_customers(&self, customers: &[CustomerId]) {
        self.sessions.invalidate_if(|_, session| customers.contains(&session.customer.id));
    }

    /// Evicts the stores of a company, of which one has changed.
    pub fn invalidate_stores(&self, company: CompanyId) {
        self.stores.invalidate_if(|_, store| store.company_id == company);
    }

    /// Evicts the sessions in the stores of a company.
    pub fn invalidate_sessions(&self, company: CompanyId) {
        self.sessions.invalidate_if(|_, session| session.company == company);
    }
}
