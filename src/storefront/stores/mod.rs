//! Stores and their publishable keys.

mod queries;
mod store_key;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, KeyId, StoreId};

pub use queries::{Store, find_store};
pub use queries::{list_stores, revoke_store_key};
pub use store_key::StoreKey;

/// Creates a store. Returns `None` if the company does not exist.
pub async fn create_store(
    conn: &mut PgConnection,
    company: CompanyId,
    name: &str,
    now: DateTime<Utc>,
) -> Result<Option<StoreId>, sqlx::Error> {
    let id = StoreId::new(now);
    Ok(queries::insert_store(conn, id, company, name, now).await?.then_some(id))
}

/// Creates a key of a store. Returns `None` if the store does not exist.
pub async fn create_store_key(
    conn: &mut PgConnection,
    store: StoreId,
    now: DateTime<Utc>,
) -> Result<Option<(KeyId, StoreKey)>, sqlx::Error> {
    let (id, key) = (KeyId::new(now), StoreKey::generate());
    Ok(queries::insert_store_key(conn, id, store, &key.digest(), now).await?.then_some((id, key)))
}
