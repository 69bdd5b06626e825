//! The extractor of routes that read records: it checks the scope before the request takes a turn.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;

use crate::callers::Caller;
use crate::companies::{Authenticated, Companies};
use crate::kernel::problem::Problem;
use crate::resources::Resource;

/// A request that reads records, with an API key that has the required scope.
#[derive(Debug)]
pub struct ReadRequest<R: Resource> {
    /// The state of the resource's module.
    pub state: R::State,
    /// The caller, who has the permissions [`Resource::reading`].
    pub caller: Caller,
}

impl<R, S> FromRequestParts<S> for ReadRequest<R>
where
    R: Resource,
    R::State: FromRef<S>,
    Companies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let authenticated = Authenticated::from_request_parts(parts, state).await?;
        R::require_reading(&authenticated.caller)?;
        Ok(Self { state: R::State::from_ref(state), caller: authenticated.admitted().await? })
    }
}
