//! The permission to act for a company: a valid API key, as a handler's parameter.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use chrono::TimeDelta;

use crate::companies::queries::ApiKeyRow;
use crate::companies::{AllowedNetworks, ApiKey, Companies, Grant, Scope, Scopes, queries};
use crate::kernel::client_address::ClientAddress;
use crate::kernel::ids::{CompanyId, KeyId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::telemetry::chain;

/// How often a key's use is written down.
const USE_NOTED_EVERY: TimeDelta = TimeDelta::minutes(5);

/// A request that came with a valid API key, from where that key may be used.
#[derive(Clone, Debug)]
pub struct CallingCompany {
    /// The tenant everything the request touches belongs to.
    pub company: CompanyId,
    /// The key it came with.
    pub key: KeyId,
    /// What the key may do, from where and until when.
    pub grant: Grant,
}

impl CallingCompany {
    /// Refuses with `scope_missing` unless the key has `scope`.
    pub fn may(&self, scope: Scope) -> Result<(), Problem> {
        if self.grant.scopes.allow(scope) {
            return Ok(());
        }
        Err(Problem::new(ProblemCode::ScopeMissing).detail(format!("This API key does not have the scope {scope}.")))
    }
}

impl<S> FromRequestParts<S> for CallingCompany
where
    S: Send + Sync,
    Companies: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let companies = Companies::from_ref(state);
        let key = bearer(&parts.headers).and_then(ApiKey::parse).ok_or(ProblemCode::ApiKeyInvalid)?;
        let now = companies.clock.now();
        let row = queries::find_api_key(&mut *companies.pool.acquire().await?, &key.digest(), now).await?;
        let row = row.ok_or(ProblemCode::ApiKeyInvalid)?;
        let grant = row.grant()?;
        let Ok(client) = ClientAddress::from_request_parts(parts, state).await;
        if !grant.networks.admit(client.ip()) {
            return Err(ProblemCode::AddressForbidden.into());
        }
        if row.last_used_at.is_none_or(|last| last + USE_NOTED_EVERY <= now) {
            companies.note_use(row.id);
        }
        Ok(Self { company: row.company_id, key: row.id, grant })
    }
}

impl ApiKeyRow {
    /// A list of networks that cannot be read lets nobody in.
    fn grant(&self) -> Result<Grant, Problem> {
        let networks = AllowedNetworks::try_from(self.allowed_networks.clone()).map_err(|error| {
            tracing::error!(key = %self.id, %error, "the networks of an API key cannot be read");
            Problem::new(ProblemCode::Internal)
        })?;
        Ok(Grant { scopes: Scopes::from_names(&self.scopes), networks, until: self.expires_at })
    }
}

impl Companies {
    /// Writes down that a key was used, off the request's path.
    fn note_use(&self, key: KeyId) {
        let this = self.clone();
        self.lifecycle.spawn(async move {
            let noted = async { queries::note_use(&mut *this.pool.acquire().await?, key, this.clock.now()).await };
            if let Err(error) = noted.await {
                tracing::warn!(error = chain(&error), "the use of an API key was not written down");
            }
        });
    }
}

/// What stands after `Authorization: Bearer`, when there is exactly one such header.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
