//! Companies and their API keys, which grant access to the extension routes.
//!
//! Writes `companies` and `api_keys`. A [`Caller`](crate::callers::Caller) as a handler parameter proves that the request has a valid
//! API key. Keys are stored as SHA-256 digests and shown only once (`docs/specification/decisions.md`, section 2). A live key is
//! cached for one second. A key cannot create another key whose grant exceeds its own.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! access               proves that a request has a valid API key
//! state                what the proof needs: the database and the cache of live keys
//! known_key            a live key, as it was read
//! queries  api_key     the statements on companies and API keys, and how a key is written
//! ```

mod access;
mod api_key;
mod known_key;
mod queries;
mod state;

use chrono::{DateTime, Utc};
use sqlx::{Connection, PgConnection};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Caller, Grant};
use crate::kernel::ids::{CompanyId, KeyId};

pub use access::bearer;
pub use api_key::ApiKey;
pub use queries::{company_of_key, list_companies, lock};
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

/// Returns the id of the new company, which has no API key yet.
pub async fn create_company(conn: &mut PgConnection, name: &str, now: DateTime<Utc>) -> Result<CompanyId, sqlx::Error> {
    let id = CompanyId::new(now);
    queries::insert_company(conn, id, name, now).await?;
    Ok(id)
}

/// Whether the company exists.
pub async fn company_exists(conn: &mut PgConnection, id: CompanyId) -> Result<bool, sqlx::Error> {
    queries::company_exists(conn, id).await
}

/// Creates an API key of the caller's company, with any grant: for the command line, which may do everything. The key itself is only
/// available in the return value.
pub async fn create_api_key(
    conn: &mut PgConnection,
    caller: &Caller,
    name: &str,
    grant: impl Into<Grant>,
    now: DateTime<Utc>,
) -> Result<(KeyId, ApiKey), CreateKeyError> {
    let (id, key) = (KeyId::new(now), ApiKey::generate());
    let mut transaction = conn.begin().await?;
    if !queries::insert_api_key(&mut transaction, id, caller.company, name, &key.digest(), &grant.into(), now).await? {
        return Err(CreateKeyError::CompanyUnknown(caller.company));
    }
    audit_trail::record(&mut transaction, caller, Action::Created, ChangedRecord::ApiKey(id), now).await?;
    transaction.commit().await?;
    Ok((id, key))
}

/// Revokes an API key immediately. Returns `false` if the caller's company has no live key with this id.
pub async fn revoke_api_key(conn: &mut PgConnection, caller: &Caller, id: KeyId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let mut transaction = conn.begin().await?;
    let revoked = queries::revoke_api_key(&mut transaction, caller.company, id, now).await?;
    if revoked {
        audit_trail::record(&mut transaction, caller, Action::Updated(&["revoked_at"]), ChangedRecord::ApiKey(id), now).await?;
    }
    transaction.commit().await?;
    Ok(revoked)
}
