//! The SQL of companies and API keys.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::callers::Grant;
use crate::kernel::ids::{CompanyId, KeyId};

pub(super) async fn insert_company(conn: &mut PgConnection, id: CompanyId, name: &str, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("insert into companies (id, name, created_at) values ($1, $2, $3)", id.uuid(), name, now).execute(conn).await?;
    Ok(())
}

/// Every company, the oldest first.
pub async fn list_companies(conn: &mut PgConnection) -> Result<Vec<(CompanyId, String)>, sqlx::Error> {
    let rows = sqlx::query!(r#"select id as "id: CompanyId", name from companies order by created_at, id"#).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

pub(super) async fn company_exists(conn: &mut PgConnection, id: CompanyId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists(select from companies where id = $1) as "exists!""#, id.uuid()).fetch_one(conn).await
}

/// Returns `false` if the company does not exist.
pub(super) async fn insert_api_key(
    conn: &mut PgConnection,
    id: KeyId,
    company: CompanyId,
    name: &str,
    digest: &[u8],
    grant: &Grant,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query!(
        "insert into api_keys (id, company_id, version, name, digest, scopes, allowed_networks, expires_at, created_at, updated_at)
         select $1, companies.id, 1, $3, $4, $5, $6, $7, $8, $8 from companies where companies.id = $2",
        id.uuid(),
        company.uuid(),
        name,
        digest,
        &grant.scopes.names(),
        &grant.networks.texts(),
        grant.until,
        now,
    )
    .execute(conn)
    .await?;
    Ok(inserted.rows_affected() == 1)
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
pub(super) async fn find_api_key(conn: &mut PgConnection, digest: &[u8], now: DateTime<Utc>) -> Result<Option<ApiKeyRow>, sqlx::Error> {
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

/// The company that owns the API key.
pub async fn company_of_key(conn: &mut PgConnection, id: KeyId) -> Result<Option<CompanyId>, sqlx::Error> {
    let found = sqlx::query_scalar!("select company_id from api_keys where id = $1 and deleted_at is null", id.uuid());
    Ok(found.fetch_optional(conn).await?.map(CompanyId::from))
}

pub(super) async fn revoke_api_key(
    conn: &mut PgConnection,
    company: CompanyId,
    id: KeyId,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let revoked = sqlx::query!(
        "update api_keys set revoked_at = $2, version = version + 1, updated_at = $2
         where id = $1 and company_id = $3 and deleted_at is null and (revoked_at is null or revoked_at > $2)",
        id.uuid(),
        now,
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(revoked.rows_affected() == 1)
}

/// Records the use of a key. This does not count as a change of the record, so its version stays.
pub(super) async fn record_use(conn: &mut PgConnection, id: KeyId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
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
pub async fn lock(conn: &mut PgConnection, company: CompanyId) -> Result<(), sqlx::Error> {
    sqlx::query!("select from companies where id = $1 for no key update", company.uuid()).fetch_optional(conn).await?;
    Ok(())
}
