//! Companies and their API keys, which grant access to the extension routes.
//!
//! Writes `companies`, and when a key in `api_keys` was last used; [`crate::developers`] creates and changes keys. A
//! [`Caller`](crate::callers::Caller) as a handler parameter proves that the request has a valid API key. Keys are stored as SHA-256
//! digests and shown only once (`docs/specification/decisions.md`, section 2). A live key is cached for one second.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! access               proves that a request has a valid API key
//! own_writes           whoever changes something reads it in the next list
//! limits               how much of the service a company uses, and each party of it
//! moving               moving a company to another cell, with everything that belongs to it
//! deletion             deleting it
//! belongings           what belongs to it
//! suspension           suspending a company
//! state                what the proof needs: the database and the cache of live keys
//! known_key            a live key, as it was read
//! queries  api_key     the statements on companies and API keys, and how a key is written
//! standing             whether a company is served
//! ```

mod access;
mod api_key;
mod belongings;
mod deletion;
mod known_key;
mod limits;
pub mod moving;
mod own_writes;
mod queries;
mod standing;
mod state;
mod suspension;

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

pub use access::{Authenticated, bearer};
pub use api_key::ApiKey;
pub use belongings::{ATTEMPTS, TABLES};
pub use deletion::{Deletion, DeletionError};
pub use limits::{Admission, RequestLimits, Settings, keep_limits};
pub use own_writes::note_writes;
pub use queries::{Company, ListedKey, company_name, count_companies, find_companies, grant_of_key, list_api_keys, list_companies, lock};
pub use standing::{Stage, Standing, Step};
pub use state::Companies;
pub use suspension::{must_be_open, must_stay_open, resume_company, standing, suspend_company};

/// Returns the id of the new company, which has no API key yet.
pub async fn create_company(conn: &mut Connection, name: &str, now: DateTime<Utc>) -> Result<CompanyId, sqlx::Error> {
    let id = CompanyId::new(now);
    queries::insert_company(conn, id, name, now).await?;
    Ok(id)
}

/// Whether the company exists.
pub async fn company_exists(conn: &mut Connection, id: CompanyId) -> Result<bool, sqlx::Error> {
    queries::company_exists(conn, id).await
}
