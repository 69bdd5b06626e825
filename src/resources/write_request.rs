//! The extractor of routes that write one record: it checks the scope and parses the id.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;

use crate::callers::Caller;
use crate::companies::{Authenticated, Companies};
use crate::kernel::problem::Problem;
use crate::resources::{PathId, Resource};

/// A request about one record, with an API key that has the required scope. Whether the record exists has not been checked yet.
#[derive(Debug)]
pub struct WriteRequest<R: Resource> {
    /// The state of the resource's module.
    pub state: R::State,
    /// The caller, who has the permissions [`Resource::writing`].
    pub caller: Caller,
    /// The id of the record.
    pub id: R::Id,
}

impl<R, S> FromRequestParts<S> for WriteRequest<R>
where
    R: Resource,
    R::State: FromRef<S>,
    Companies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let authenticated = Authenticated::from_request_parts(parts, state).await?;
        R::require(&authenticated.caller, R::writing())?;
        let caller = authenticated.admitted().await?;
        let PathId(id) = PathId::from_request_parts(parts, state).await?;
        Ok(Self { state: R::State::from_ref(state), caller, id })
    }
}
