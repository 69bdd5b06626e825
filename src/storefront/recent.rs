//! What the storefront remembers for a second ([`crate::kernel::recent`]): stores by their key, sign-ins by their token.

use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};

use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::recent::{self, Epoch};
use crate::kernel::secret_digest::SecretDigest;
use crate::storefront::customers::Customer;
use crate::storefront::stores::Store;
use crate::storefront::tokens::TokenId;

/// Sign-ins remembered at most, each about a kilobyte.
const SESSIONS: usize = 20_000;
/// Customers with more `meta` than this, as JSON in bytes, are looked up every time: what many apps keep is worth no memory.
const META_REMEMBERED: usize = 256;
/// Store keys remembered at most.
const STORES: usize = 2_000;

/// The digest of a store key.
type KeyDigest = [u8; 32];

/// Remembers stores and sign-ins. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    /// Stores by the digest of a key.
    pub(super) stores: recent::Recent<KeyDigest, Store>,
    /// Live sign-ins.
    pub(super) sessions: recent::Recent<TokenId, Session>,
}

/// A live sign-in of an open account.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) store: StoreId,
    pub(super) digest: SecretDigest,
    pub(super) last_used_at: DateTime<Utc>,
    pub(super) customer: Arc<Customer>,
    /// The customer as JSON, which most requests ask for.
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

    /// A customer has changed, or all their sign-ins have ended.
    pub(super) fn forget_customer(&self, customer: CustomerId) {
        self.forget_customers(&[customer]);
    }

    /// Several customers have changed.
    pub(super) fn forget_customers(&self, customers: &[CustomerId]) {
        self.sessions.forget_where(|session| customers.contains(&session.customer.id));
    }

    /// Something wider has changed.
    pub(super) fn forget_everything(&self) {
        self.stores.forget_everything();
        self.sessions.forget_everything();
    }
}
