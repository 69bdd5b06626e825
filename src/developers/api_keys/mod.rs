//! API keys, as a resource of `developers/int/v1` that requires the scope `admin` (`docs/specification/decisions.md`, sections 2 and 9).
//!
//! A key is shown only in the response that creates it; only its digest is stored. No key can create, change or rotate another key
//! into one with more scopes, more networks or a later expiry than its own: [`Caller::must_cover`](crate::callers::Caller::must_cover)
//! checks every result.

mod body;
mod revoke;
mod roll;

use axum::extract::FromRef;
use axum::http::Method;
use chrono::{DateTime, Utc};

use crate::audit_trail::ChangedRecord;
use crate::callers::{AllowedNetworks, Area, Grant, Scope, Scopes};
use crate::companies::{ApiKey, Companies};
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::ids::{CompanyId, KeyId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::members;
use crate::operators::{self, Notice};
use crate::resources::{Change, Extension, Instant, Line, New, PublishesEvents, RecordTransaction, Reference, Resource, ResourceState};

pub use body::{InvalidScopes, SomeScopes};
pub use revoke::revoke_api_key;
pub use roll::roll_api_key;

crate::fields! {
    /// An API key.
    pub struct ApiKeyRecord, body ApiKeyBody {
        /// The name that the owner gives the key.
        #[searched]
        name: Line<255>,
        /// The scopes of the key.
        scopes: SomeScopes,
        /// The networks that the key may be used from. An empty list means anywhere.
        allowed_networks: AllowedNetworks,
        /// When the key expires. Null means never.
        expires_at: Option<Instant>,
    }
    read_only {
        /// When the key is or was revoked.
        revoked_at: Option<Instant>,
        /// When the key was last used, accurate to a few minutes.
        last_used_at: Option<Instant>,
        /// The key that this key replaced in a rotation.
        replaces: Option<Reference<KeyId>>,
    }
    hidden {
        /// The SHA-256 digest of the key.
        digest: Vec<u8>,
    }
}

/// All that the routes of API keys need. A command builds it from a pool and a clock.
impl ResourceState for Companies {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl Resource for ApiKeyRecord {
    type Id = KeyId;
    type State = Companies;

    const SINGULAR: &'static str = "api_key";
    const PLURAL: &'static str = "api_keys";
    const AREA: Area = Area::Integration;
    const READING: Scope = Scope::Admin;
    const WRITING: Scope = Scope::Admin;
    const SHOWS_SECRET: bool = true;
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::ApiKeyTooStrong];
}

/// Keys publish no events: subscribers do not need to know about access.
impl PublishesEvents for ApiKeyRecord {
    const AUDITED_AS: Option<fn(KeyId) -> ChangedRecord> = Some(ChangedRecord::ApiKey);

    fn evict(companies: &Companies, company: CompanyId) {
        companies.forget_keys(company);
    }

    /// Owners are told of a key that may do everything: it outlives the session that has made it.
    async fn follow_up(transaction: &mut RecordTransaction<Companies>, change: &Change<'_, Self>) -> Result<(), Problem> {
        let may_do_everything = |key: &Self| Scopes::from_names(&key.scopes).allow(Scope::Admin);
        let reach = |key: &Self| may_do_everything(key).then(|| (key.allowed_networks.clone(), key.expires_at));
        if change.newly(reach).is_some() {
            let (now, key) = (transaction.now, change.record());
            operators::tell_owners(transaction.conn(), key.company, None, Notice::AdminKey, &key.id.to_string(), now).await?;
        }
        Ok(())
    }
}

impl ApiKeyRecord {
    fn grant(&self) -> Grant {
        let networks = AllowedNetworks::try_from(self.allowed_networks.clone()).expect("networks are validated before they are stored");
        let until = [self.expires_at, self.revoked_at].into_iter().flatten().min();
        Grant { networks, until, ..Grant::from(Scopes::from_names(&self.scopes)) }
    }

    fn is_over(&self, now: DateTime<Utc>) -> bool {
        self.grant().until.is_some_and(|end| end <= now)
    }

    /// Generates a key. It is returned in the response and not stored in plain text.
    fn with_new_key(mut self) -> New<Self> {
        let key = ApiKey::generate();
        self.digest = key.digest().to_vec();
        New { fields: self, shown_once: members! { "key": key.reveal() } }
    }
}

/// The five routes, and the route that rotates a key.
pub(super) fn extension<S>() -> Extension<S>
where
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("developers").editable::<ApiKeyRecord>().route(Method::POST, "/api-keys/{uuid}/roll", roll::doc(), roll::roll)
}
