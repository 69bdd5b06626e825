//! The storefront's cache ([`crate::kernel::recent`]), with a TTL of one second: stores by their key, sessions by their token.

use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};

use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::recent::{self, Epoch};
use crate::kernel::secret_digest::SecretDigest;
use crate::storefront::customers::Customer;
use crate::storefront::stores::Store;
use crate::storefront::tokens::TokenId;

/// The maximum number of cached sessions. Each takes about one kilobyte.
const SESSIONS: usize = 20_000;
/// The maximum size of `meta` in a cached session, as JSON in bytes. Sessions of customers with a larger `meta` are not cached,
/// because they would take too much memory.
const META_REMEMBERED: usize = 256;
/// The maximum number of cached stores.
const STORES: usize = 2_000;

/// The digest of a store key.
type KeyDigest = [u8; 32];

/// The cache of stores and sessions. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    /// Stores by the digest of their key.
    pub(super) stores: recent::Recent<KeyDigest, Store>,
    /// Live sessions by the number of their token.
    pub(super) sessions: recent::Recent<TokenId, Session>,
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

impl Recent {
    pub(super) fn new() -> Self {
        Self { stores: recent::Recent::new(STORES), sessions: recent::Recent::new(SESSIONS) }
    }

    pub(super) fn keep_session(&self, epoch: Epoch, token: TokenId, session: &Arc<Session>, now: DateTime<Utc>) {
        if session.customer.meta.to_string().len() <= META_REMEMBERED {
            self.sessions.keep(epoch, token, session, now);
        }
    }

    /// Evicts the sessions of a customer who has changed, or whose sessions were revoked.
    pub(super) fn forget_customer(&self, customer: CustomerId) {
        self.forget_customers(&[customer]);
    }

    /// Evicts the sessions of several customers.
    pub(super) fn forget_customers(&self, customers: &[CustomerId]) {
        self.sessions.forget_where(|session| customers.contains(&session.customer.id));
    }

    /// Evicts everything.
    pub(super) fn forget_everything(&self) {
        self.stores.forget_everything();
        self.sessions.forget_everything();
    }
}
