//! The SQL of stores and their keys.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, KeyId, StoreId};

pub(super) async fn insert_store(
    conn: &mut PgConnection,
    id: StoreId,
    company: CompanyId,
    name: &str,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query!(
        "insert into stores (id, company_id, name, created_at, updated_at) select $1, companies.id, $3, $4, $4 from companies where companies.id = $2",
        id.uuid(),
        company.uuid(),
        name,
        now,
    )
    .execute(conn)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

/// The stores of a company, the oldest first.
pub async fn list_stores(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<(StoreId, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select id as "id: StoreId", name from stores where company_id = $1 and deleted_at is null order by created_at, id"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

pub(super) async fn insert_store_key(
    conn: &mut PgConnection,
    id: KeyId,
    company: CompanyId,
    store: StoreId,
    digest: &[u8],
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query!(
        "insert into store_keys (id, store_id, digest, created_at)
         select $1, stores.id, $3, $4 from stores where stores.id = $2 and stores.company_id = $5",
        id.uuid(),
        store.uuid(),
        digest,
        now,
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

/// The store that a key belongs to.
#[derive(Clone, Debug)]
pub(in crate::storefront) struct Store {
    pub(in crate::storefront) key_id: KeyId,
    pub(in crate::storefront) id: StoreId,
    pub(in crate::storefront) company_id: CompanyId,
    pub(in crate::storefront) name: String,
}

/// Returns the store whose key has this digest, unless the key is revoked.
pub(in crate::storefront) async fn find_store(
    conn: &mut PgConnection,
    digest: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<Store>, sqlx::Error> {
    sqlx::query_as!(
        Store,
        "select store_keys.id as key_id, stores.id, stores.company_id, stores.name
         from store_keys join stores on stores.id = store_keys.store_id
         where store_keys.digest = $1 and stores.deleted_at is null and (store_keys.revoked_at is null or store_keys.revoked_at > $2)",
        digest,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// The company that owns the store.
pub async fn company_of_store(conn: &mut PgConnection, id: StoreId) -> Result<Option<CompanyId>, sqlx::Error> {
    let found = sqlx::query_scalar!("select company_id from stores where id = $1", id.uuid()).fetch_optional(conn).await?;
    Ok(found.map(CompanyId::from))
}

/// The company whose store has this key.
pub async fn company_of_store_key(conn: &mut PgConnection, id: KeyId) -> Result<Option<CompanyId>, sqlx::Error> {
    let found = sqlx::query_scalar!(
        "select company_id from stores where id = (select store_id from store_keys where store_keys.id = $1)",
        id.uuid(),
    );
    Ok(found.fetch_optional(conn).await?.map(CompanyId::from))
}

pub(super) async fn revoke_store_key(
    conn: &mut PgConnection,
    company: CompanyId,
    id: KeyId,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let revoked = sqlx::query!(
        "update store_keys set revoked_at = $2 where id = $1 and (revoked_at is null or revoked_at > $2)
         and store_id in (select stores.id from stores where stores.company_id = $3)",
        id.uuid(),
        now,
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(revoked.rows_affected() == 1)
}
