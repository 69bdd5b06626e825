//! What a route that writes one record begins with: the permission, and which record.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;

use crate::companies::{CallingCompany, Companies};
use crate::kernel::problem::Problem;
use crate::resources::{PathId, Resource};

/// A request about one record, with a key that may write such records. Nobody has looked yet whether there is such a one.
#[derive(Debug)]
pub struct Writing<R: Resource> {
    /// The state of its room.
    pub room: R::Room,
    /// Who asks.
    pub caller: CallingCompany,
    /// Which record.
    pub id: R::Id,
}

impl<R, S> FromRequestParts<S> for Writing<R>
where
    R: Resource,
    R::Room: FromRef<S>,
    Companies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let caller = CallingCompany::from_request_parts(parts, state).await?;
        caller.may(R::WRITING)?;
        let PathId(id) = PathId::from_request_parts(parts, state).await?;
        Ok(Self { room: R::Room::from_ref(state), caller, id })
    }
}
