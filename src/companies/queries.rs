//! The SQL of companies and API keys.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, KeyId};

pub(super) async fn insert_company(conn: &mut Connection, id: CompanyId, name: &str, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("insert into companies (id, name, created_at) values ($1, $2, $3)", id.uuid(), name, now).execute(conn).await?;
    Ok(())
}

/// Every company, the oldest first.
pub async fn list_companies(conn: &mut Connection) -> Result<Vec<(CompanyId, String)>, sqlx::Error> {
    let rows = sqlx::query!(r#"select id as "id: CompanyId", name from companies order by created_at, id"#).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

/// The name of a company.
pub async fn company_name(conn: &mut Connection, id: CompanyId) -> Result<String, sqlx::Error> {
    sqlx::query_scalar!("select name from companies where id = $1", id.uuid()).fetch_one(conn).await
}

pub(super) async fn company_exists(conn: &mut Connection, id: CompanyId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists(select from companies where id = $1) as "exists!""#, id.uuid()).fetch_one(conn).await
}

pub(super) struct ApiKeyRow {
    pub(super) id: KeyId,
    pub(super) company_id: CompanyId,
    pub(super) scopes: Vec<String>,
    pub(super) allowed_networks: Vec<String>,
    pub(super) expires_at: Option<DateTime<Utc>>,
    pub(super) revoked_at: Option<DateTime<Utc>>,
    pub(super) last_used_at: Option<DateTime<Utc>>,
}

/// The key with this digest, unless it is revoked or has expired.
pub(super) async fn find_api_key(conn: &mut Connection, digest: &[u8], now: DateTime<Utc>) -> Result<Option<ApiKeyRow>, sqlx::Error> {
    sqlx::query_as!(
        ApiKeyRow,
        "select id, company_id, scopes, allowed_networks, expires_at, revoked_at, last_used_at from api_keys
         where digest = $1 and deleted_at is null and (revoked_at is null or revoked_at > $2) and (expires_at is null or expires_at > $2)",
        digest,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// Records the use of a key. This does not count as a change of the record, so its version stays.
pub(super) async fn record_use(conn: &mut Connection, id: KeyId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update api_keys set last_used_at = $2
         where id = (select id from api_keys where id = $1 and (last_used_at is null or last_used_at < $2) for no key update skip locked)",
        id.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Locks the row of the company until the transaction ends, for changes that must not happen twice at the same time. The lock does not
/// block foreign keys that reference the row.
pub async fn lock(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    sqlx::query!("select from companies where id = $1 for no key update", company.uuid()).fetch_optional(conn).await?;
    Ok(())
}
