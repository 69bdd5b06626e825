//! The storefront's cache ([`crate::kernel::ttl_cache`]), with a TTL of one second: stores by their key, sessions by their token.

use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};

use crate::kernel::crypto::SecretDigest;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::ttl_cache::{Generation, TtlCache};
use crate::storefront::customers::Customer;
use crate::storefront::stores::Store;
use crate::storefront::tokens::TokenId;

/// The maximum number of cached sessions. Each takes about one kilobyte.
const MAX_CACHED_SESSIONS: usize = 20_000;
/// The maximum size of `meta` in a cached session, as JSON in bytes. Sessions of customers with a larger `meta` are not cached,
/// because they would take too much memory.
const MAX_CACHED_META_LEN: usize = 256;
/// The maximum number of cached stores.
const MAX_CACHED_STORES: usize = 2_000;

/// The digest of a store key.
type KeyDigest = [u8; 32];

/// The cache of stores and sessions. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    /// Stores by the digest of their key.
    pub(super) stores: TtlCache<KeyDigest, Store>,
    /// Live sessions by the number of their token.
    pub(super) sessions: TtlCache<TokenId, Session>,
}

/// A live session of an open account.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) store: StoreId,
    pub(super) digest: SecretDigest,
    pub(super) last_used_at: DateTime<Utc>,
    pub(super) customer: Arc<Customer>,
    /// The customer as JSON. Most requests ask for it.
    pub(super) shown: Bytes,
}

impl Caches {
    pub(super) fn new() -> Self {
        Self { stores: TtlCache::new(MAX_CACHED_STORES), sessions: TtlCache::new(MAX_CACHED_SESSIONS) }
    }

    pub(super) fn insert_session(&self, generation: Generation, token: TokenId, session: &Arc<Session>, now: DateTime<Utc>) {
        if session.customer.meta.to_string().len() <= MAX_CACHED_META_LEN {
            self.sessions.insert_if_current(generation, token, session, now);
        }
    }

    /// Evicts the sessions of a customer who has changed, or whose sessions were revoked.
    pub(super) fn invalidate_customer(&self, customer: CustomerId) {
        self.invalidate_customers(&[customer]);
    }

    /// Evicts the sessions of several customers.
    pub(super) fn invalidate_customers(&self, customers: &[CustomerId]) {
        self.sessions.invalidate_if(|session| customers.contains(&session.customer.id));
    }

    /// Evicts everything.
    pub(super) fn invalidate_all(&self) {
        self.stores.invalidate_all();
        self.sessions.invalidate_all();
    }
}
