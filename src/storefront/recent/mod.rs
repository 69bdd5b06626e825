//! What was looked up within the last second: stores by their key, sign-ins by their token.
//!
//! A busy app asks for the same two rows over and over; most requests are answered without Postgres. What this instance changes it forgets
//! at once, so a revocation made here counts for the very next request; one made elsewhere counts within [`FRESH_FOR`].
//!
//! A row read before a change must not be believed after it, even if it is kept only then. So who looks something up takes the [`Epoch`]
//! first, which is kept with the row, and [`changes`] tells whether the row has changed since.

mod changes;

use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use quick_cache::sync::Cache;

use crate::kernel::ids::{CustomerId, StoreId};
use crate::storefront::customers::Customer;
use crate::storefront::recent::changes::Changes;
use crate::storefront::stores::Store;
use crate::storefront::tokens::TokenId;

pub(super) use changes::Epoch;

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
    changes: Changes,
    stores: Cache<KeyDigest, Kept<Store>>,
    sessions: Cache<TokenId, Kept<Session>>,
}

/// A row, since when it is known, and the epoch in which it was read.
#[derive(Debug)]
struct Kept<T> {
    row: Arc<T>,
    since: DateTime<Utc>,
    epoch: Epoch,
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self { row: Arc::clone(&self.row), since: self.since, epoch: self.epoch }
    }
}

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
        Self(Arc::new(Rows { changes: Changes::new(), stores: Cache::new(STORES), sessions: Cache::new(SESSIONS) }))
    }

    /// To be taken before a row is read that will be remembered.
    pub(super) fn epoch(&self) -> Epoch {
        self.0.changes.epoch()
    }

    pub(super) fn store(&self, key: &KeyDigest, now: DateTime<Utc>) -> Option<Arc<Store>> {
        let kept = self.0.stores.get(key).filter(|kept| is_fresh(kept.since, now))?;
        self.0.changes.none_of(of_store(kept.row.id), kept.epoch).then_some(kept.row)
    }

    pub(super) fn session(&self, token: TokenId, now: DateTime<Utc>) -> Option<Arc<Session>> {
        let (kept, changes) = (self.0.sessions.get(&token).filter(|kept| is_fresh(kept.since, now))?, &self.0.changes);
        let is_what_it_was =
            changes.none_of(of_token(token), kept.epoch) && changes.none_of(of_customer(kept.row.customer.id), kept.epoch);
        is_what_it_was.then_some(kept.row)
    }

    pub(super) fn keep_store(&self, epoch: Epoch, key: KeyDigest, store: &Arc<Store>, now: DateTime<Utc>) {
        self.0.stores.insert(key, Kept { row: Arc::clone(store), since: now, epoch });
    }

    pub(super) fn keep_session(&self, epoch: Epoch, token: TokenId, session: &Arc<Session>, now: DateTime<Utc>) {
        if session.customer.meta.to_string().len() <= META_REMEMBERED {
            self.0.sessions.insert(token, Kept { row: Arc::clone(session), since: now, epoch });
        }
    }

    /// A sign-in has ended or was changed.
    pub(super) fn forget_session(&self, token: TokenId) {
        self.0.changes.note(of_token(token));
    }

    /// A customer has changed, or all their sign-ins have ended.
    pub(super) fn forget_customer(&self, customer: CustomerId) {
        self.0.changes.note(of_customer(customer));
    }

    /// Several customers have changed.
    pub(super) fn forget_customers(&self, customers: &[CustomerId]) {
        customers.iter().for_each(|customer| self.forget_customer(*customer));
    }

    /// Something wider has changed.
    pub(super) fn forget_everything(&self) {
        self.0.changes.note_everything();
    }
}

/// The places of rows among the changes: ids begin with the time and end by chance.
fn of_store(id: StoreId) -> u64 {
    id.uuid().as_u64_pair().1
}

fn of_customer(id: CustomerId) -> u64 {
    id.uuid().as_u64_pair().1
}

fn of_token(id: TokenId) -> u64 {
    id.number().cast_unsigned()
}

/// Whether a row read at `since` is still believed; one from the future, after a clock stepped back, is not.
fn is_fresh(since: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    since <= now && now - since < FRESH_FOR
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kernel::ids::{CompanyId, KeyId};

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn store() -> Arc<Store> {
        let (key_id, id, company_id) = (KeyId::new(NOW), StoreId::new(NOW), CompanyId::new(NOW));
        Arc::new(Store { key_id, id, company_id, name: "Acme".to_owned() })
    }

    fn session(meta: serde_json::Value) -> Arc<Session> {
        let customer = Customer {
            id: CustomerId::new(NOW),
            name: "Ada".to_owned(),
            email: None,
            email_verified_at: None,
            phone: None,
            phone_verified_at: None,
            title: None,
            photo_url: None,
            meta,
            password_hash: None,
            created_at: NOW,
            updated_at: NOW,
        };
        let (store, digest, shown) = (StoreId::new(NOW), Vec::new(), Bytes::new());
        Arc::new(Session { store, digest, last_used_at: NOW, customer: Arc::new(customer), shown })
    }

    fn token(number: &str) -> TokenId {
        number.parse().unwrap()
    }

    #[test]
    fn a_row_is_believed_for_a_second() {
        let recent = Recent::new();
        recent.keep_store(recent.epoch(), [7; 32], &store(), NOW);
        assert!(recent.store(&[7; 32], NOW + TimeDelta::milliseconds(999)).is_some());
        assert!(recent.store(&[7; 32], NOW + FRESH_FOR).is_none());
        assert!(recent.store(&[7; 32], NOW - TimeDelta::milliseconds(1)).is_none(), "after a clock stepped back");
        assert!(recent.store(&[8; 32], NOW).is_none());
    }

    #[test]
    fn what_was_read_before_a_change_is_not_believed_after_it() {
        let (recent, ada) = (Recent::new(), session(json!({})));
        let of_ada = || recent.session(token("7"), NOW).is_some();
        let changes: [fn(&Recent, CustomerId); 4] = [
            |recent, _| recent.forget_session(token("7")),
            |recent, ada| recent.forget_customer(ada),
            |recent, ada| recent.forget_customers(&[CustomerId::new(NOW), ada]),
            |recent, _| recent.forget_everything(),
        ];
        for change in changes {
            let epoch = recent.epoch();
            recent.keep_session(epoch, token("7"), &ada, NOW);
            assert!(of_ada());
            change(&recent, ada.customer.id);
            assert!(!of_ada(), "what is kept is forgotten");
            recent.keep_session(epoch, token("7"), &ada, NOW);
            assert!(!of_ada(), "and so is what is kept only now");
        }
    }

    #[test]
    fn the_change_of_one_customer_leaves_the_others_remembered() {
        let (recent, ada) = (Recent::new(), session(json!({})));
        recent.keep_session(recent.epoch(), token("7"), &ada, NOW);
        recent.forget_session(token("8"));
        recent.forget_customer(uuid::Uuid::from_u128(ada.customer.id.uuid().as_u128() + 1).into());
        assert!(recent.session(token("7"), NOW).is_some());
    }

    #[test]
    fn who_keeps_much_is_not_remembered() {
        let recent = Recent::new();
        recent.keep_session(recent.epoch(), token("7"), &session(json!({ "much": "x".repeat(META_REMEMBERED) })), NOW);
        assert!(recent.session(token("7"), NOW).is_none());
    }
}
