//! Companies and their API keys, which grant access to the extension routes.
//!
//! Writes `companies` and `api_keys`. A [`CallingCompany`] as a handler parameter proves that the request has a valid API key;
//! [`CallingCompany::require_scope`] checks its scope. Keys are stored as SHA-256 digests and shown only once
//! (`docs/specification/decisions.md`, section 2). A live key is cached for one second. Scopes, allowed networks and expiry of a
//! key are its [`Grant`]; a key cannot create another key whose grant exceeds its own.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! access                    proves that a request has a valid API key
//! state                     what the proof needs: the database and the cache of live keys
//! known_key                 a live key, as it was read
//! queries                   the statements on companies and API keys
//! grant  api_key            what a key allows, and how it is written
//! scopes  allowed_networks  the parts of a grant
//! ```

mod access;
mod allowed_networks;
mod api_key;
mod grant;
mod known_key;
mod queries;
mod scopes;
mod state;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, KeyId};

pub use access::{CallingCompany, bearer};
pub use allowed_networks::{AllowedNetworks, InvalidNetworks};
pub use api_key::ApiKey;
pub use grant::{Escalation, Grant};
pub use queries::{company_of_key, list_companies, revoke_api_key};
pub use scopes::{InvalidScope, Scope, Scopes};
pub use state::Companies;

/// The reason why an API key could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateKeyError {
    /// The company does not exist.
    #[error("there is no company {0}")]
    CompanyUnknown(CompanyId),
    /// A database error.
    #[error("the key could not be stored")]
    Database(#[from] sqlx::Error),
}

/// Creates a company.
pub async fn create_company(conn: &mut PgConnection, name: &str, now: DateTime<Utc>) -> Result<CompanyId, sqlx::Error> {
    let id = CompanyId::new(now);
    queries::insert_company(conn, id, name, now).await?;
    Ok(id)
}

/// Whether the company exists.
pub async fn company_exists(conn: &mut PgConnection, id: CompanyId) -> Result<bool, sqlx::Error> {
    queries::company_exists(conn, id).await
}

/// Creates an API key of `company`. The key itself is only available in the return value.
pub async fn create_api_key(
    conn: &mut PgConnection,
    company: CompanyId,
    name: &str,
    grant: impl Into<Grant>,
    now: DateTime<Utc>,
) -> Result<(KeyId, ApiKey), CreateKeyError> {
    let (id, key) = (KeyId::new(now), ApiKey::generate());
    match queries::insert_api_key(conn, id, company, name, &key.digest(), &grant.into(), now).await? {
        true => Ok((id, key)),
        false => Err(CreateKeyError::CompanyUnknown(company)),
    }
}
