//! Links that sign an operator in once: the greeting of development.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::kernel::crypto::{random_base62, sha256};
use crate::kernel::ids::OperatorId;
use crate::operators::queries;

/// How long a link can be used.
const LIFETIME: TimeDelta = TimeDelta::hours(1);

/// The secret of a link in plain text; stored as a digest.
#[derive(Clone)]
pub struct OneTimeLink(String);

impl OneTimeLink {
    /// Stores a link for the operator.
    pub async fn create(conn: &mut PgConnection, operator: OperatorId, now: DateTime<Utc>) -> Result<Self, sqlx::Error> {
        let link = Self(random_base62(40));
        queries::insert_link(conn, &link.digest(), operator, now + LIFETIME).await?;
        Ok(link)
    }

    /// The secret that a request claims to know.
    pub fn claimed(secret: String) -> Self {
        Self(secret)
    }

    /// The secret in plain text.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        sha256(&self.0)
    }
}

impl std::fmt::Debug for OneTimeLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OneTimeLink(…)")
    }
}
