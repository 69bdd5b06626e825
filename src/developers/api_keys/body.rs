//! The request bodies that create and change API keys.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use crate::companies::{AllowedNetworks, NotAScope, Scope, Scopes};
use crate::developers::Developers;
use crate::developers::api_keys::{ApiKeyRecord, check};
use crate::kernel::ids::KeyId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Described, Edit, Editable, Instant, Line, Member, New, Record, Reference};

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
enum NotScopes {
    #[error("An API key needs at least one scope.")]
    None,
    #[error("{0}.")]
    Unknown(#[source] NotAScope),
}

impl TryFrom<Vec<String>> for ScopesBody {
    type Error = NotScopes;

    fn try_from(names: Vec<String>) -> Result<Self, NotScopes> {
        let mut scopes = names.iter().map(|name| name.parse::<Scope>()).collect::<Result<Vec<_>, _>>().map_err(NotScopes::Unknown)?;
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() { Err(NotScopes::None) } else { Ok(Self(Scopes::new(scopes))) }
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
            return Err(FieldErrors::one("expires_at", "This must be an instant to come."));
        }
        self.expires_at.put_or_clear(&mut key.expires_at);
        Ok(())
    }
}

impl Editable for ApiKeyRecord {
    type Body = ApiKeyBody;

    fn documented() -> Vec<Described> {
        vec![
            Described::sent::<Line<255>>("name", "What its owner calls it."),
            Described::formed(
                "scopes",
                "What it may do.",
                json!({ "type": "array", "minItems": 1, "items": { "enum": Scope::ALL.map(Scope::as_str) } }),
            )
            .and_needed(),
            Described::formed(
                "allowed_networks",
                "From where; none is from anywhere.",
                json!({ "type": "array", "items": { "type": "string" } }),
            )
            .and_sent(),
            Described::sent::<Option<Instant>>("expires_at", "Until when; null is for ever."),
            Described::shown::<Option<Instant>>("revoked_at", "From when on it is refused."),
            Described::shown::<Option<Instant>>("last_used_at", "When it was used last, to a few minutes."),
            Described::shown::<Option<Reference<KeyId>>>("replaces", "The key it was rolled from."),
        ]
    }

    async fn create(edit: &mut Edit<Developers>, _: KeyId, body: ApiKeyBody) -> Result<New<Self>, Problem> {
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
        body.put(&mut key, edit.now)?;
        check(edit, &key.grant())?;
        Ok(key.with_new_key())
    }

    /// The key may keep what its grant already contains, even if the caller has less. Only additions must be within the caller's
    /// own grant.
    async fn change(edit: &mut Edit<Developers>, before: &Record<Self>, body: ApiKeyBody) -> Result<Self, Problem> {
        let mut key = before.fields.clone();
        body.put(&mut key, edit.now)?;
        if key.grant().beyond(&before.fields.grant()).is_some() {
            check(edit, &key.grant())?;
        }
        Ok(key)
    }
}
