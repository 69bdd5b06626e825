//! How much of the service one company uses with its API keys: requests per minute, and requests at the same time. Counted in memory by each
//! instance.
//!
//! A company can have a fraction of the connections of the database, whatever it asks for, so that others find one. Requests that only wait
//! for a group commit hold none: they leave the line ([`Admission::leave_line`]).

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::line::{Lines, Turn};
use crate::kernel::rate_limit::{LocalRateLimiter, RateLimitStatus};

/// How many requests of one company wait for their turn, each for three seconds at most. More are refused at once.
const MAX_WAITING: usize = 100;

/// `[companies]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The maximum number of requests per minute of one company, with all its API keys.
    pub requests_per_minute: NonZeroU32,
    /// The maximum number of requests of one company that are worked on at the same time.
    pub concurrent_requests: NonZeroU32,
}

/// The limits of all companies. Clones share the counters.
#[derive(Clone, Debug)]
pub struct RequestLimits {
    per_minute: LocalRateLimiter<CompanyId>,
    lines: Lines<CompanyId>,
    at_once: u32,
}

impl RequestLimits {
    /// Limits as they are set.
    pub fn new(settings: &Settings) -> Self {
        let at_once = settings.concurrent_requests.get();
        let lines = Lines::new(usize::try_from(at_once).unwrap_or(usize::MAX / 2), MAX_WAITING);
        Self { per_minute: LocalRateLimiter::new(settings.requests_per_minute), lines, at_once }
    }

    /// Forgets the companies without requests in the last minute. A periodic task calls it about once a minute.
    pub fn sweep(&self) {
        self.per_minute.sweep();
    }
}

/// What the limits say about a request, once its company is known. A handler extracts it to leave the line.
#[derive(Clone, Debug, Default)]
pub struct Admission(Option<Arc<Admitting>>);

#[derive(Debug)]
struct Admitting {
    limits: RequestLimits,
    admitted: Mutex<Admitted>,
}

#[derive(Debug, Default)]
struct Admitted {
    status: Option<RateLimitStatus>,
    turn: Option<Turn<CompanyId>>,
}

/// Middleware: requests with API keys keep the limits, and their responses show them.
pub async fn keep_limits(State(limits): State<RequestLimits>, mut request: Request, next: Next) -> Response {
    let admitting = Arc::new(Admitting { limits, admitted: Mutex::default() });
    request.extensions_mut().insert(Admission(Some(Arc::clone(&admitting))));
    let mut response = next.run(request).await;
    if let Some(status) = admitting.admitted().status {
        status.apply_headers(&mut response);
    }
    response
}

impl Admission {
    /// Counts the request as one of `company`, and waits for its turn.
    pub(super) async fn admit(&self, company: CompanyId) -> Result<(), Problem> {
        let Some(admitting) = &self.0 else { return Ok(()) };
        let status = admitting.limits.per_minute.hit(company);
        admitting.admitted().status = Some(status);
        if !status.allowed {
            return Err(status.problem());
        }
        let turn = admitting.limits.lines.turn(company).await.map_err(|_| {
            let at_once = admitting.limits.at_once;
            Problem::new(ProblemCode::RateLimited)
                .detail(format!("The company has {at_once} requests under way, which is the maximum, and too many are waiting."))
        })?;
        admitting.admitted().turn = Some(turn);
        Ok(())
    }

    /// What follows holds no connection of the pool, so the next request of the company may begin.
    pub fn leave_line(&self) {
        if let Some(admitting) = &self.0 {
            admitting.admitted().turn = None;
        }
    }
}

impl Admitting {
    fn admitted(&self) -> MutexGuard<'_, Admitted> {
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without [`keep_limits`], there are no limits.
impl<S: Send + Sync> FromRequestParts<S> for Admission {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
