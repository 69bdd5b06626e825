//! What was looked up within the last second: stores by their key, sign-ins by their token.
//!
//! A busy app asks for the same two rows over and over; most requests are answered without Postgres. What this instance changes it forgets
//! at once, so a revocation made here counts for the very next request; one made elsewhere counts within [`FRESH_FOR`].
//!
//! A row read before a change must not be remembered after it. So who looks something up takes the [`Epoch`] first, every change begins a
//! new one, and only what was read in the present epoch is kept.

use std::sync::{Arc, PoisonError, RwLock};

use axum::body::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use quick_cache::sync::Cache;

use crate::kernel::ids::{CustomerId, StoreId};
use crate::storefront::customers::Customer;
use crate::storefront::stores::Store;
use crate::storefront::tokens::TokenId;

/// How long a row is believed without looking again.
const FRESH_FOR: TimeDelta = TimeDelta::seconds(1);
/// Sign-ins remembered at most, each about a kilobyte.
const SESSIONS: usize = 20_000;
/// Customers with more `meta` than this, as JSON in bytes, are looked up every time: what many apps keep is worth no memory.
const META_REMEMBERED: usize = 256;
/// Store keys remembered at most.
const STORES: usize = 2_000;

/// The digest of a store key.
type KeyDigest = [u8; 32];

/// Remembers rows for a second. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Recent(Arc<Rows>);

#[derive(Debug)]
struct Rows {
    epoch: RwLock<Epoch>,
    stores: Cache<KeyDigest, (DateTime<Utc>, Arc<Store>)>,
    sessions: Cache<TokenId, (DateTime<Utc>, Arc<Session>)>,
}

/// The time between two changes of this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch(u64);

/// A live sign-in of an open account.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) store: StoreId,
    pub(super) digest: Vec<u8>,
    pub(super) last_used_at: DateTime<Utc>,
    pub(super) customer: Arc<Customer>,
    /// The customer as JSON, which most requests ask for.
    pub(super) shown: Bytes,
}

impl Recent {
    pub(super) fn new() -> Self {
        let rows = Rows { epoch: RwLock::new(Epoch(0)), stores: Cache::new(STORES), sessions: Cache::new(SESSIONS) };
        Self(Arc::new(rows))
    }

    /// To be taken before a row is read that will be remembered.
    pub(super) fn epoch(&self) -> Epoch {
        *self.0.epoch.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store(&self, key: &KeyDigest, now: DateTime<Utc>) -> Option<Arc<Store>> {
        self.0.stores.get(key).filter(|(since, _)| is_fresh(*since, now)).map(|(_, store)| store)
    }

    pub(super) fn session(&self, token: TokenId, now: DateTime<Utc>) -> Option<Arc<Session>> {
        self.0.sessions.get(&token).filter(|(since, _)| is_fresh(*since, now)).map(|(_, session)| session)
    }

    pub(super) fn keep_store(&self, epoch: Epoch, key: KeyDigest, store: &Arc<Store>, now: DateTime<Utc>) {
        self.keep(epoch, |rows| rows.stores.insert(key, (now, Arc::clone(store))));
    }

    pub(super) fn keep_session(&self, epoch: Epoch, token: TokenId, session: &Arc<Session>, now: DateTime<Utc>) {
        if session.customer.meta.to_string().len() <= META_REMEMBERED {
            self.keep(epoch, |rows| rows.sessions.insert(token, (now, Arc::clone(session))));
        }
    }

    fn keep(&self, read_in: Epoch, insert: impl FnOnce(&Rows)) {
        let epoch = self.0.epoch.read().unwrap_or_else(PoisonError::into_inner);
        if *epoch == read_in {
            insert(&self.0);
        }
    }

    /// A sign-in has ended or was changed.
    pub(super) fn forget_session(&self, token: TokenId) {
        self.forget(|rows| {
            rows.sessions.remove(&token);
        });
    }

    /// A customer has changed, or all their sign-ins have ended.
    pub(super) fn forget_customer(&self, customer: CustomerId) {
        self.forget_customers(&[customer]);
    }

    /// Several customers have changed.
    pub(super) fn forget_customers(&self, customers: &[CustomerId]) {
        self.forget(|rows| rows.sessions.retain(|_, (_, session)| !customers.contains(&session.customer.id)));
    }

    /// Something wider has changed.
    pub(super) fn forget_everything(&self) {
        self.forget(|rows| {
            rows.stores.clear();
            rows.sessions.clear();
        });
    }

    fn forget(&self, remove: impl FnOnce(&Rows)) {
        let mut epoch = self.0.epoch.write().unwrap_or_else(PoisonError::into_inner);
        epoch.0 += 1;
        remove(&self.0);
    }
}

/// Whether a row read at `since` is still believed; one from the future, after a clock stepped back, is not.
fn is_fresh(since: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    since <= now && now - since < FRESH_FOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ids::{CompanyId, KeyId};

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn store() -> Arc<Store> {
        let (key_id, id, company_id) = (KeyId::new(NOW), StoreId::new(NOW), CompanyId::new(NOW));
        Arc::new(Store { key_id, id, company_id, name: "Acme".to_owned() })
    }

    #[test]
    fn a_row_is_believed_for_a_second() {
        let recent = Recent::new();
        recent.keep_store(recent.epoch(), [7; 32], &store(), NOW);
        assert!(recent.store(&[7; 32], NOW + TimeDelta::milliseconds(999)).is_some());
        assert!(recent.store(&[7; 32], NOW + FRESH_FOR).is_none());
        assert!(recent.store(&[8; 32], NOW).is_none());
    }

    #[test]
    fn what_was_read_before_a_change_is_not_remembered_after_it() {
        let recent = Recent::new();
        let epoch = recent.epoch();
        recent.forget_everything();
        recent.keep_store(epoch, [7; 32], &store(), NOW);
        assert!(recent.store(&[7; 32], NOW).is_none());
    }
}
