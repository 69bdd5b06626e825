//! The body of a request, received as a whole before anything acts on it: so the limit of its size and the time for it hold on every route,
//! also on those that read no body, and nothing is done for a request that is then refused.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::kernel::problem::{Problem, ProblemCode};

/// The maximum size of a body: 256 KiB, unless the route takes more. Decisions, section 1.
pub const BODY_LIMIT: usize = 256 * 1024;

/// A route, as it is matched, that takes larger bodies, and their maximum size.
pub type LargerBody = (&'static str, usize);

/// The maximum sizes of bodies by route.
#[derive(Clone, Debug, Default)]
pub struct BodyLimits(Vec<LargerBody>);

impl BodyLimits {
    /// [`BODY_LIMIT`] for all routes but these.
    pub fn new(larger: impl IntoIterator<Item = LargerBody>) -> Self {
        Self(larger.into_iter().collect())
    }

    fn of(&self, route: Option<&str>) -> usize {
        self.0.iter().find(|(larger, _)| Some(*larger) == route).map_or(BODY_LIMIT, |(_, limit)| *limit)
    }

    /// The request with its body in memory. A declared size beyond the limit is refused before anything is read, so a client that asks first
    /// (`Expect: 100-continue`) is not told to go on.
    pub async fn receive(&self, request: Request, route: Option<&str>, time_limit: Duration) -> Result<Request, Problem> {
        let limit = self.of(route);
        if request.body().size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
            return Err(ProblemCode::BodyTooLarge.into());
        }
        if request.body().is_end_stream() {
            return Ok(request);
        }
        let (parts, body) = request.into_parts();
        let received = timeout(time_limit, Limited::new(body, limit).collect()).await.map_err(|_| ProblemCode::RequestTimeout)?;
        let whole = received.map_err(|error| match error.is::<LengthLimitError>() {
            true => Problem::new(ProblemCode::BodyTooLarge),
            false => Problem::new(ProblemCode::BadRequest).detail("The body did not arrive as a whole."),
        })?;
        Ok(Request::from_parts(parts, Body::from(whole.to_bytes())))
    }
}
