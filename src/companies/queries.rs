//! The SQL of companies and API keys.

use chrono::{DateTime, Utc};

use crate::callers::{AllowedNetworks, Grant, Scopes};
use crate::companies::standing::{Stage, Standing, Step};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, KeyId};

pub(super) async fn insert_company(conn: &mut Connection, id: CompanyId, name: &str, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("insert into companies (id, name, created_at) values ($1, $2, $3)", id.uuid(), name, now).execute(conn).await?;
    Ok(())
}

/// A company as the command line shows it.
#[derive(Debug)]
pub struct Company {
    /// Its id.
    pub id: CompanyId,
    /// Its name, which another one may have too.
    pub name: String,
    /// Since when it is suspended.
    pub suspended_at: Option<DateTime<Utc>>,
    /// How far it is on its way from or to another cell.
    pub moves: Option<Step>,
}

struct CompanyRow {
    id: CompanyId,
    name: String,
    suspended_at: Option<DateTime<Utc>>,
    cell: Option<String>,
    stage: Option<Stage>,
}

impl From<CompanyRow> for Company {
    fn from(row: CompanyRow) -> Self {
        let moves = row.cell.zip(row.stage).map(|(cell, stage)| Step { cell, stage });
        Self { id: row.id, name: row.name, suspended_at: row.suspended_at, moves }
    }
}

/// Every company, the oldest first.
pub async fn list_companies(conn: &mut Connection) -> Result<Vec<Company>, sqlx::Error> {
    let rows = sqlx::query_as!(
        CompanyRow,
        r#"select id as "id: CompanyId", name, companies.suspended_at, cell as "cell?", stage as "stage?: Stage"
           from companies left join company_moves on company_id = id order by created_at, id"#
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Company::from).collect())
}

/// How many companies there are, those on their way to another cell aside.
pub async fn count_companies(conn: &mut Connection) -> Result<i64, sqlx::Error> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from companies where id not in (select company_id from company_moves where stage in ('leaving', 'left'))"#,
    );
    count.fetch_one(conn).await
}

/// The company with this id, or those with this name.
pub async fn find_companies(conn: &mut Connection, id: Option<CompanyId>, name: &str) -> Result<Vec<Company>, sqlx::Error> {
    let rows = sqlx::query_as!(
        CompanyRow,
        r#"select id as "id: CompanyId", name, companies.suspended_at, cell as "cell?", stage as "stage?: Stage"
           from companies left join company_moves on company_id = id where id = $1 or name = $2 order by created_at, id"#,
        id.map(CompanyId::uuid),
        name,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Company::from).collect())
}

/// Suspends a company, or resumes it. Returns whether it was the other way before.
pub(super) async fn set_suspended(conn: &mut Connection, id: CompanyId, since: Option<DateTime<Utc>>) -> Result<bool, sqlx::Error> {
    let changed = sqlx::query!(
        "update companies set suspended_at = $2 where id = $1 and (suspended_at is null) = ($2::timestamptz is not null)",
        id.uuid(),
        since,
    );
    Ok(changed.execute(conn).await?.rows_affected() == 1)
}

pub(super) async fn find_standing(conn: &mut Connection, id: CompanyId) -> Result<Standing, sqlx::Error> {
    let row =
        sqlx::query!(r#"select suspended as "suspended!", moving as "moving!" from company_standings where company_id = $1"#, id.uuid());
    Ok(row.fetch_optional(conn).await?.map_or(Standing::Gone, |row| Standing::of(row.suspended, row.moving)))
}

/// Until the transaction ends, the company is not suspended.
pub(super) async fn lock_against_suspension(conn: &mut Connection, id: CompanyId) -> Result<(), sqlx::Error> {
    sqlx::query!("select from companies where id = $1 for share", id.uuid()).fetch_optional(conn).await?;
    Ok(())
}

/// An API key as the command line shows it.
#[derive(Debug)]
pub struct ListedKey {
    /// Its id.
    pub id: KeyId,
    /// What it is for.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// Where it may be used; empty means anywhere.
    pub allowed_networks: Vec<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was last used, to within some minutes.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it stops.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was revoked, or will be.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// The API keys of a company, the oldest first.
pub async fn list_api_keys(conn: &mut Connection, company: CompanyId) -> Result<Vec<ListedKey>, sqlx::Error> {
    sqlx::query_as!(
        ListedKey,
        r#"select id as "id: KeyId", name, scopes, allowed_networks, created_at, last_used_at, expires_at, revoked_at
           from api_keys where company_id = $1 and deleted_at is null order by created_at, id"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// The name of a company.
pub async fn company_name(conn: &mut Connection, id: CompanyId) -> Result<String, sqlx::Error> {
    sqlx::query_scalar!("select name from companies where id = $1", id.uuid()).fetch_one(conn).await
}

/// Whether a company is on its way from or to another cell, or has gone there.
pub(super) async fn is_moving(conn: &mut Connection, id: CompanyId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists (select from company_moves where company_id = $1) as "any!""#, id.uuid()).fetch_one(conn).await
}

pub(super) async fn company_exists(conn: &mut Connection, id: CompanyId) -> Result<bool, sqlx::Error> {
    let exists = sqlx::query_scalar!(
        r#"select exists(select from companies where id = $1 and id not in (select company_id from company_moves where stage = 'left')) as "exists!""#,
        id.uuid(),
    );
    exists.fetch_one(conn).await
}

pub(super) struct ApiKeyRow {
    pub(super) id: KeyId,
    pub(super) company_id: CompanyId,
    pub(super) scopes: Vec<String>,
    pub(super) allowed_networks: Vec<String>,
    pub(super) expires_at: Option<DateTime<Utc>>,
    pub(super) revoked_at: Option<DateTime<Utc>>,
    pub(super) last_used_at: Option<DateTime<Utc>>,
    pub(super) suspended: bool,
    pub(super) moving: bool,
}

/// The key with this digest, unless it is revoked or has expired.
pub(super) async fn find_api_key(conn: &mut Connection, digest: &[u8], now: DateTime<Utc>) -> Result<Option<ApiKeyRow>, sqlx::Error> {
    sqlx::query_as!(
        ApiKeyRow,
        r#"select id, api_keys.company_id, scopes, allowed_networks, expires_at, revoked_at, last_used_at, suspended as "suspended!", moving as "moving!"
           from api_keys join company_standings on company_standings.company_id = api_keys.company_id
           where digest = $1 and deleted_at is null and (revoked_at is null or revoked_at > $2) and (expires_at is null or expires_at > $2)"#,
        digest,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// What the key with this id may do; `None` if it is deleted, revoked or has expired.
pub async fn grant_of_key(conn: &mut Connection, company: CompanyId, key: KeyId, now: DateTime<Utc>) -> Result<Option<Grant>, sqlx::Error> {
    let found = sqlx::query!(
        "select scopes, allowed_networks, expires_at, revoked_at from api_keys
         where id = $1 and company_id = $2 and deleted_at is null and (revoked_at is null or revoked_at > $3)
           and (expires_at is null or expires_at > $3)",
        key.uuid(),
        company.uuid(),
        now,
    );
    let Some(found) = found.fetch_optional(conn).await? else { return Ok(None) };
    // A key whose networks cannot be read may do nothing.
    let networks = AllowedNetworks::try_from(found.allowed_networks).map_err(|error| sqlx::Error::Decode(error.into()))?;
    let until = [found.expires_at, found.revoked_at].into_iter().flatten().min();
    Ok(Some(Grant { networks, until, ..Grant::from(Scopes::from_names(&found.scopes)) }))
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
