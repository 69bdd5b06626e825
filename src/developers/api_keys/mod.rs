//! API keys, as a resource of `developers/int/v1` that asks for the scope `admin` (decisions, sections 2 and 9).
//!
//! A key is shown in the answer that makes it and never again; only its digest is kept. No key makes, changes or rolls another into one
//! that may do more than itself, may be used from elsewhere, or lives longer: [`Grant::beyond`] is asked about every result.

mod body;
mod roll;

use axum::extract::FromRef;
use axum::http::Method;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::companies::{AllowedNetworks, ApiKey, Companies, Excess, Grant, Scope, Scopes};
use crate::developers::Developers;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::KeyId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::members;
use crate::resources::{Announced, Edit, Extension, New, Resource};

crate::columns! {
    /// What is kept of an API key.
    pub struct ApiKeyRecord {
        /// What its owner calls it.
        pub name: String,
        /// SHA-256 of the key.
        pub digest: Vec<u8>,
        /// What it may do.
        pub scopes: Vec<String>,
        /// From where; empty is from anywhere.
        pub allowed_networks: Vec<String>,
        /// Until when; none is for ever.
        pub expires_at: Option<DateTime<Utc>>,
        /// From when on it is refused.
        pub revoked_at: Option<DateTime<Utc>>,
        /// When it was used last, to a few minutes.
        pub last_used_at: Option<DateTime<Utc>>,
        /// The key it was rolled from.
        pub replaces: Option<KeyId>,
    }
}

impl Resource for ApiKeyRecord {
    type Id = KeyId;
    type Room = Developers;

    const SINGULAR: &'static str = "api_key";
    const PLURAL: &'static str = "api_keys";
    const SEARCH: &'static [&'static str] = &["name"];
    const READING: Scope = Scope::Admin;
    const WRITING: Scope = Scope::Admin;

    /// Everything but the digest.
    fn shown(&self) -> Map<String, Value> {
        members! {
            "name": self.name,
            "scopes": self.scopes,
            "allowed_networks": self.allowed_networks,
            "expires_at": self.expires_at.map(timestamp),
            "revoked_at": self.revoked_at.map(timestamp),
            "last_used_at": self.last_used_at.map(timestamp),
            "replaces": self.replaces,
        }
    }
}

/// Keys are nobody's event: a subscriber need not know who may call.
impl Announced for ApiKeyRecord {}

impl ApiKeyRecord {
    fn grant(&self) -> Grant {
        let networks = AllowedNetworks::try_from(self.allowed_networks.clone()).expect("only networks that could be read were stored");
        let until = [self.expires_at, self.revoked_at].into_iter().flatten().min();
        Grant { scopes: Scopes::from_names(&self.scopes), networks, until }
    }

    fn is_over(&self, now: DateTime<Utc>) -> bool {
        self.grant().until.is_some_and(|end| end <= now)
    }

    /// With a key of its own, which is in the answer and nowhere else.
    fn with_new_key(mut self) -> New<Self> {
        let key = ApiKey::generate();
        self.digest = key.digest().to_vec();
        New { fields: self, shown_once: members! { "key": key.reveal() } }
    }
}

/// Refuses to let the caller hand out what it has not got itself.
fn check(edit: &Edit<Developers>, grant: &Grant) -> Result<(), Problem> {
    match edit.caller.as_ref().and_then(|caller| grant.beyond(&caller.grant)) {
        Some(excess) => Err(excess.into()),
        None => Ok(()),
    }
}

impl From<Excess> for Problem {
    fn from(excess: Excess) -> Self {
        Self::new(ProblemCode::ApiKeyTooStrong).detail(excess.to_string())
    }
}

/// The five routes, and the one that replaces a key.
pub(super) fn extension<S>() -> Extension<S>
where
    Developers: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("developers").editable::<ApiKeyRecord>().beside(
        Method::POST,
        "/api-keys/{uuid}/roll",
        "Replace an API key by a new one.",
        roll::roll,
    )
}
