//! A live API key, as the cache keeps it.

use chrono::{DateTime, Utc};

use crate::callers::{AllowedNetworks, Grant, Scopes};
use crate::companies::queries::ApiKeyRow;
use crate::companies::standing::Standing;
use crate::kernel::ids::{CompanyId, KeyId};
use crate::kernel::problem::{Problem, ProblemCode};

/// An API key that was live when it was read.
#[derive(Debug)]
pub struct KnownKey {
    pub id: KeyId,
    pub digest: [u8; 32],
    pub company: CompanyId,
    /// Whether the company is served, or the key refused.
    pub standing: Standing,
    pub grant: Grant,
    pub last_used_at: Option<DateTime<Utc>>,
}

impl KnownKey {
    /// Returns an error if the stored networks cannot be parsed, so the key is rejected.
    pub fn read(digest: [u8; 32], row: ApiKeyRow) -> Result<Self, Problem> {
        let networks = AllowedNetworks::try_from(row.allowed_networks).map_err(|error| {
            tracing::error!(key = %row.id, %error, "the stored networks of an API key are invalid");
            Problem::new(ProblemCode::Internal)
        })?;
        let until = [row.expires_at, row.revoked_at].into_iter().flatten().min();
        let grant = Grant { networks, until, ..Grant::from(Scopes::from_names(&row.scopes)) };
        Ok(Self {
            id: row.id,
            digest,
            company: row.company_id,
            standing: Standing::of(row.suspended, row.moving),
            grant,
            last_used_at: row.last_used_at,
        })
    }
}
