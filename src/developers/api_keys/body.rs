//! The request bodies that create and change API keys.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use crate::companies::{AllowedNetworks, InvalidScope, Scope, Scopes};
use crate::developers::Developers;
use crate::developers::api_keys::{ApiKeyRecord, check};
use crate::kernel::ids::KeyId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Editable, FieldDoc, Instant, Line, Member, New, Record, RecordTransaction, Reference};

/// The fields of an API key that requests may contain.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApiKeyBody {
    name: Member<Line<255>>,
    scopes: Member<ScopesBody>,
    allowed_networks: Member<AllowedNetworks>,
    expires_at: Member<Option<Instant>>,
}

/// A list of at least one scope.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
struct ScopesBody(Scopes);

#[derive(Debug, thiserror::Error)]
enum InvalidScopes {
    #[error("An API key needs at least one scope.")]
    None,
    #[error("{0}.")]
    Unknown(#[source] InvalidScope),
}

impl TryFrom<Vec<String>> for ScopesBody {
    type Error = InvalidScopes;

    fn try_from(names: Vec<String>) -> Result<Self, InvalidScopes> {
        let mut scopes = names.iter().map(|name| name.parse::<Scope>()).collect::<Result<Vec<_>, _>>().map_err(InvalidScopes::Unknown)?;
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() { Err(InvalidScopes::None) } else { Ok(Self(Scopes::new(scopes))) }
    }
}

impl ApiKeyBody {
    fn put(self, key: &mut ApiKeyRecord, now: DateTime<Utc>) -> Result<(), Problem> {
        self.name.put(&mut key.name);
        if let Member::Sent(ScopesBody(scopes)) = self.scopes {
            key.scopes = scopes.names();
        }
        if let Member::Sent(networks) = self.allowed_networks {
            key.allowed_networks = networks.texts();
        }
        if let Member::Sent(Some(end)) = self.expires_at
            && DateTime::from(end) <= now
        {
            return Err(FieldErrors::one("expires_at", "This must be an instant in the future."));
        }
        self.expires_at.put_or_clear(&mut key.expires_at);
        Ok(())
    }
}

impl Editable for ApiKeyRecord {
    type Body = ApiKeyBody;

    fn documented_fields() -> Vec<FieldDoc> {
        vec![
            FieldDoc::writable::<Line<255>>("name", "The name that the owner gives the key."),
            FieldDoc::with_schema(
                "scopes",
                "The scopes of the key.",
                json!({ "type": "array", "minItems": 1, "items": { "enum": Scope::ALL.map(Scope::as_str) } }),
            )
            .and_required(true),
            FieldDoc::with_schema(
                "allowed_networks",
                "The networks that the key may be used from. An empty list means anywhere.",
                json!({ "type": "array", "items": { "type": "string" } }),
            )
            .and_writable(),
            FieldDoc::writable::<Option<Instant>>("expires_at", "When the key expires. Null means never."),
            FieldDoc::read_only::<Option<Instant>>("revoked_at", "When the key is or was revoked."),
            FieldDoc::read_only::<Option<Instant>>("last_used_at", "When the key was last used, accurate to a few minutes."),
            FieldDoc::read_only::<Option<Reference<KeyId>>>("replaces", "The key that this key replaced in a rotation."),
        ]
    }

    async fn create(transaction: &mut RecordTransaction<Developers>, _: KeyId, body: ApiKeyBody) -> Result<New<Self>, Problem> {
        let mut needed = FieldErrors::default();
        needed.require("name", body.name.as_sent());
        needed.require("scopes", body.scopes.as_sent());
        needed.finish()?;
        let mut key = Self {
            name: String::new(),
            digest: Vec::new(),
            scopes: Vec::new(),
            allowed_networks: Vec::new(),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            replaces: None,
        };
        body.put(&mut key, transaction.now)?;
        check(transaction, &key.grant())?;
        Ok(key.with_new_key())
    }

    /// The key may keep what its grant already contains, even if the caller has less. Only additions must be within the caller's
    /// own grant.
    async fn change(transaction: &mut RecordTransaction<Developers>, before: &Record<Self>, body: ApiKeyBody) -> Result<Self, Problem> {
        let mut key = before.fields.clone();
        body.put(&mut key, transaction.now)?;
        if key.grant().escalation_over(&before.fields.grant()).is_some() {
            check(transaction, &key.grant())?;
        }
        Ok(key)
    }
}
