//! The permission to act for a company: a valid API key, as a handler's parameter.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use crate::companies::{ApiKey, Companies, Scope, Scopes, queries};
use crate::kernel::ids::{CompanyId, KeyId};
use crate::kernel::problem::{Problem, ProblemCode};

/// A request that came with a valid API key.
#[derive(Clone, Debug)]
pub struct CallingCompany {
    /// The tenant everything the request touches belongs to.
    pub company: CompanyId,
    /// The key it came with.
    pub key: KeyId,
    scopes: Scopes,
}

impl CallingCompany {
    /// Refuses with `scope_missing` unless the key has `scope`.
    pub fn may(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.allow(scope) {
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
        let mut conn = companies.pool.acquire().await?;
        let row = queries::find_api_key(&mut conn, &key.digest(), companies.clock.now()).await?;
        let row = row.ok_or(ProblemCode::ApiKeyInvalid)?;
        Ok(Self { company: row.company_id, key: row.id, scopes: Scopes::from_names(&row.scopes) })
    }
}

/// What stands after `Authorization: Bearer`, when there is exactly one such header.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
