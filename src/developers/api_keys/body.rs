//! How request bodies create and change API keys.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use crate::callers::{AllowedNetworks, InvalidScope, Scope, Scopes};
use crate::companies::Companies;
use crate::developers::api_keys::{ApiKeyBody, ApiKeyRecord};
use crate::kernel::ids::KeyId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Editable, Fields, Instant, Line, Member, New, Record, RecordTransaction};

/// A list of at least one scope.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct SomeScopes(Scopes);

/// The list is empty, or one of the scopes does not exist.
#[derive(Debug, thiserror::Error)]
pub enum InvalidScopes {
    /// A key without scopes could do nothing.
    #[error("An API key needs at least one scope.")]
    None,
    /// The first name that no scope has.
    #[error("{0}.")]
    Unknown(#[source] InvalidScope),
}

impl TryFrom<Vec<Scope>> for SomeScopes {
    type Error = InvalidScopes;

    fn try_from(mut scopes: Vec<Scope>) -> Result<Self, InvalidScopes> {
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() { Err(InvalidScopes::None) } else { Ok(Self(Scopes::new(scopes))) }
    }
}

impl TryFrom<Vec<String>> for SomeScopes {
    type Error = InvalidScopes;

    fn try_from(names: Vec<String>) -> Result<Self, InvalidScopes> {
        names.iter().map(|name| name.parse::<Scope>()).collect::<Result<Vec<_>, _>>().map_err(InvalidScopes::Unknown)?.try_into()
    }
}

impl From<SomeScopes> for Vec<String> {
    fn from(SomeScopes(scopes): SomeScopes) -> Self {
        scopes.names()
    }
}

crate::field_type!(SomeScopes => Vec<String>, json!({ "type": "array", "minItems": 1, "items": { "enum": Scope::ALL.map(Scope::as_str) } }));

impl ApiKeyBody {
    /// The body that creates a key for use from anywhere, without end.
    pub fn of(name: Line<255>, scopes: SomeScopes) -> Self {
        Self { name: Member::Sent(name), scopes: Member::Sent(scopes), ..Self::default() }
    }

    /// The key ends at `end`, if there is one, and may be used from `networks` only.
    pub fn within(self, networks: AllowedNetworks, end: Option<Instant>) -> Self {
        Self { allowed_networks: Member::Sent(networks), expires_at: Member::Sent(end), ..self }
    }

    fn check(&self, now: DateTime<Utc>) -> Result<(), Problem> {
        match self.expires_at {
            Member::Sent(Some(end)) if DateTime::from(end) <= now => {
                Err(FieldErrors::one("expires_at", "This must be an instant in the future."))
            }
            _ => Ok(()),
        }
    }
}

impl Editable for ApiKeyRecord {
    type Body = ApiKeyBody;

    async fn create(transaction: &mut RecordTransaction<Companies>, _: KeyId, body: ApiKeyBody) -> Result<New<Self>, Problem> {
        let ends = body.check(transaction.now);
        let key = Self::created_by(body)?;
        ends?;
        transaction.caller.must_cover(&key.grant(), None)?;
        Ok(key.with_new_key())
    }

    /// The key may keep what its grant already contains, even if the caller has less. Only additions must be within the caller's
    /// own grant.
    async fn change(transaction: &mut RecordTransaction<Companies>, before: &Record<Self>, body: ApiKeyBody) -> Result<Self, Problem> {
        body.check(transaction.now)?;
        let key = before.fields.changed_by(body);
        transaction.caller.must_cover(&key.grant(), Some(&before.fields.grant()))?;
        Ok(key)
    }
}
