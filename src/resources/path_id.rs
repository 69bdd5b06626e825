//! The id in the path of a request.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use crate::kernel::ids::TypedId;
use crate::kernel::problem::{Problem, ProblemCode};

/// The `{uuid}` of a path, as a UUID or a TypeID. Anything else gets `record_not_found`.
#[derive(Clone, Copy, Debug)]
pub struct PathId<I>(pub I);

impl<S: Send + Sync, I: TypedId> FromRequestParts<S> for PathId<I> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let id = Path::<String>::from_request_parts(parts, state).await.ok().and_then(|Path(text)| text.parse().ok());
        id.map(Self).ok_or_else(|| ProblemCode::RecordNotFound.into())
    }
}
