//! Stores, their publishable keys, and the limits of their texts.

mod queries;
mod store_key;
mod text_limits;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::database::violated_constraint;
use crate::kernel::ids::{CompanyId, KeyId, StoreId};

pub use queries::{Store, find_pause, find_store, list_stores, lock_text_limits, pause_texts, revoke_store_key};
pub use store_key::StoreKey;
pub use text_limits::{Pause, TextLimits};

/// Creates a store. Returns `None` if the company does not exist; a transaction can then only be rolled back.
pub async fn create_store(
    conn: &mut PgConnection,
    company: CompanyId,
    name: &str,
    now: DateTime<Utc>,
) -> Result<Option<StoreId>, sqlx::Error> {
    let id = StoreId::new(now);
    match queries::insert_store(conn, id, company, name, now).await {
        Err(error) if violated_constraint(&error) == Some("stores_company_id_fkey") => Ok(None),
        inserted => inserted.map(|()| Some(id)),
    }
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
