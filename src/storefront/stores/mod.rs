//! Stores, their publishable keys, and the limits of their texts. Stores are created and changed as records
//! ([`StoreRecord`](crate::storefront::StoreRecord)). Their keys are no records of the API: administrators create and revoke them here.

mod challenge_mode;
mod one_tap;
mod queries;
mod relying_party;
mod store_key;
mod text_limits;

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Area, Caller, Scope};
use crate::kernel::database::Connection;
use crate::kernel::ids::{KeyId, StoreId};
use crate::kernel::problem::Problem;

pub use challenge_mode::ChallengeMode;
pub use one_tap::{APP_HASH_LEN, MAX_DOMAIN_LEN};
pub use queries::{
    ListedStoreKey, Store, company_of_store_key, find_pause, find_sender, find_store, is_store_of, list_store_keys, list_stores,
    list_text_budgets, list_text_limits,
};
pub use relying_party::RelyingParty;
pub use store_key::StoreKey;
#[cfg(test)]
pub use text_limits::Opening;
pub use text_limits::{Pause, TextLimits};

/// Creates a key of a store. Returns `None` if the caller's company does not have this store.
pub async fn create_store_key(
    conn: &mut Connection,
    caller: &Caller,
    store: StoreId,
    now: DateTime<Utc>,
) -> Result<Option<(KeyId, StoreKey)>, Problem> {
    caller.require(Area::Integration, Scope::Admin)?;
    let (id, key) = (KeyId::new(now), StoreKey::generate());
    let mut transaction = conn.begin().await?;
    if !queries::insert_store_key(&mut transaction, id, caller.company, store, &key.digest(), now).await? {
        return Ok(None);
    }
    audit_trail::record(&mut transaction, caller, Action::Created, ChangedRecord::StoreKey(id), now).await?;
    transaction.commit().await?;
    Ok(Some((id, key)))
}

/// Revokes a store key. Returns `false` if the caller's company has no live key with this id.
pub async fn revoke_store_key(conn: &mut Connection, caller: &Caller, id: KeyId, now: DateTime<Utc>) -> Result<bool, Problem> {
    caller.require(Area::Integration, Scope::Admin)?;
    let mut transaction = conn.begin().await?;
    let revoked = queries::revoke_store_key(&mut transaction, caller.company, id, now).await?;
    if revoked {
        audit_trail::record(&mut transaction, caller, Action::Updated(&["revoked_at"]), ChangedRecord::StoreKey(id), now).await?;
    }
    transaction.commit().await?;
    Ok(revoked)
}
