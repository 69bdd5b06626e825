//! How much of the service a company uses, and each [`Party`] of it: requests per minute, and requests at the same time. Counted in memory by
//! each instance.
//!
//! A request passes in this order: its key (or the session of its page), the network, the party's own limit, the scope, the body, the company's
//! limit, and the turn. A request that is refused before the turn keeps nobody from it: neither one without its scope nor one whose body does not
//! arrive. [`Authenticated`](crate::companies::Authenticated) begins, and [`Admission::enter`] goes on once the scope is known. A request
//! with a body, be it empty, gets its turn with the end of the body ([`QueuedBody`]), so the handler has it before it does anything. Bodies
//! without a turn are held in memory, so a company has few places for them, and a large body takes several before it is read. A callback waits for
//! no turn, and takes places all the same ([`RequestLimits::receive`]).
//!
//! A company can have a fraction of the connections of the database, whatever it asks for, so that others find one; one party leaves room to
//! the others ([`Lines::shared`]). Requests that only wait for a group commit hold none: they leave the line ([`Admission::leave_line`]).

mod queued_body;

use std::convert::Infallible;
use std::mem;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::callers::Party;
use crate::companies::limits::queued_body::QueuedBody;
use crate::kernel::ids::{CompanyId, KeyId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::line::{Entered, LineFull, Lines, Turn, Waiting};
use crate::kernel::rate_limit::{LocalRateLimiter, RateLimitStatus};
use crate::kernel::request_body::{BODY_LIMIT, Unread};

/// How many requests of one company wait for their turn, each for three seconds at most: a hundred of one key. More are refused at once.
const MAX_WAITING: usize = 125;
/// The places of one company for bodies that are on their way or wait with their request, and how much of a body is in one place, in bytes. A
/// body that is there when it is asked for, and has its turn at once, takes none, unless it is larger than one place.
const PLACES_OF_BODIES: usize = 150;
const PLACE: usize = BODY_LIMIT;

/// `[companies]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The maximum number of requests per minute of one company, with all its API keys. One key may make four fifths of them.
    pub requests_per_minute: NonZeroU32,
    /// The maximum number of requests of one company that are worked on at the same time. One key, operator or owner gets four fifths at most.
    pub concurrent_requests: NonZeroU32,
    /// The maximum number of API requests per minute that the pages of one operator make, or those of all visitors of one owner in the portal.
    pub page_requests_per_minute: NonZeroU32,
    /// The maximum number of changes per minute by all visitors of one owner in the portal.
    pub visitor_changes_per_minute: NonZeroU32,
}

/// The limits of all companies. Clones share the counters.
#[derive(Clone, Debug)]
pub struct RequestLimits(Arc<Limits>);

#[derive(Debug)]
struct Limits {
    per_minute: LocalRateLimiter<CompanyId>,
    of_key: LocalRateLimiter<KeyId>,
    /// Of one operator, and of all visitors of one owner.
    of_pages: LocalRateLimiter<(CompanyId, Party)>,
    changes_of_visitors: LocalRateLimiter<(CompanyId, Party)>,
    lines: Lines<CompanyId, Party>,
    /// For bodies without a turn.
    places: Lines<CompanyId, Party>,
    at_once: u32,
}

impl RequestLimits {
    /// Limits as they are set.
    pub fn new(settings: &Settings) -> Self {
        let (per_minute, at_once) = (settings.requests_per_minute, settings.concurrent_requests.get());
        Self(Arc::new(Limits {
            per_minute: LocalRateLimiter::new(per_minute),
            of_key: LocalRateLimiter::new(share_of(per_minute)),
            of_pages: LocalRateLimiter::new(settings.page_requests_per_minute),
            changes_of_visitors: LocalRateLimiter::new(settings.visitor_changes_per_minute),
            lines: Lines::shared(usize::try_from(at_once).unwrap_or(usize::MAX / 2), MAX_WAITING),
            places: Lines::shared(PLACES_OF_BODIES, 0),
            at_once,
        }))
    }

    /// Receives the body of a request that waits for no turn. It has places of the company on its way.
    pub async fn receive(&self, company: CompanyId, party: &Party, body: Unread<Bytes>) -> Result<Bytes, Problem> {
        let _places = self.0.places_for(company, party, body.size())?;
        body.read().await.map_err(|refused| ProblemCode::of_status(refused.status()).into())
    }

    /// Forgets the companies and parties without requests in the last minute. A periodic task calls it about once a minute.
    pub fn sweep(&self) {
        let Limits { per_minute, of_key, of_pages, changes_of_visitors, .. } = &*self.0;
        per_minute.sweep();
        of_key.sweep();
        of_pages.sweep();
        changes_of_visitors.sweep();
    }
}

/// What one key may have of the company's requests: four fifths. A company that has four or fewer a minute does not divide them.
fn share_of(per_minute: NonZeroU32) -> NonZeroU32 {
    NonZeroU32::new(per_minute.get() - per_minute.get() / 5).unwrap_or(per_minute)
}

impl Limits {
    /// Counts a request as one of the party.
    fn count_for_party(&self, company: CompanyId, party: &Party) -> RateLimitStatus {
        match party {
            Party::Key(key) => self.of_key.hit(*key),
            Party::Operator(_) | Party::Visitors(_) | Party::Gateway(_) => self.of_pages.hit((company, party.clone())),
        }
    }

    /// The places for a body of so many bytes.
    fn places_for(&self, company: CompanyId, party: &Party, size: usize) -> Result<Vec<Turn<CompanyId, Party>>, Problem> {
        let places = (0..size.div_ceil(PLACE)).map(|_| match self.places.enter(company, party.clone()) {
            Ok(Entered::Turn(place)) => Ok(place),
            Ok(Entered::Waiting(_)) | Err(LineFull) => Err(LineFull),
        });
        places.collect::<Result<_, LineFull>>().map_err(|LineFull| {
            Problem::new(ProblemCode::RateLimited).detail(format!(
                "The company has {PLACES_OF_BODIES} bodies on their way or waiting at most, and one key or gateway four fifths of them. Each {} KiB count as one.",
                PLACE / 1024
            ))
        })
    }

    /// Counts a request that the party may make: that of a key for the company, and a visitor's change as one. Pages do not count for the company,
    /// so that no key keeps operators out.
    fn count_permitted(&self, company: CompanyId, party: &Party, changes: bool) -> Option<RateLimitStatus> {
        match party {
            Party::Key(_) => Some(self.per_minute.hit(company)),
            Party::Visitors(_) if changes => Some(self.changes_of_visitors.hit((company, party.clone()))),
            Party::Operator(_) | Party::Visitors(_) | Party::Gateway(_) => None,
        }
    }
}

/// What the limits say about a request. A handler extracts it to leave the line.
#[derive(Clone, Debug, Default)]
pub struct Admission(Option<Arc<Admitting>>);

#[derive(Debug)]
struct Admitting {
    limits: RequestLimits,
    /// Whether the request may change something.
    changes: bool,
    /// Whether the turn comes with the end of the body.
    awaits_body: bool,
    admitted: Mutex<Admitted>,
}

#[derive(Debug, Default)]
struct Admitted {
    /// Of the limit of which the least is left.
    status: Option<RateLimitStatus>,
    /// Who is to have a turn.
    party: Option<(CompanyId, Party)>,
    turn: Option<Turn<CompanyId, Party>>,
    /// The places of the body, until the turn comes.
    places: Vec<Turn<CompanyId, Party>>,
    /// Why the body was not read to its end.
    refusal: Option<Problem>,
}

impl Admitted {
    /// Takes the places for a body of so many bytes, unless there are some.
    fn hold(&mut self, limits: &Limits, (company, party): (CompanyId, &Party), size: usize) -> Result<(), Problem> {
        if self.places.is_empty() {
            self.places = limits.places_for(company, party, size)?;
        }
        Ok(())
    }

    /// The turn has come. The body is that of a request under way from now on.
    fn start(&mut self, turn: Turn<CompanyId, Party>) {
        self.turn = Some(turn);
        self.places.clear();
    }
}

/// Middleware: requests with API keys, and those that pages make, keep the limits. The responses show them.
pub async fn keep_limits(State(limits): State<RequestLimits>, mut request: Request, next: Next) -> Response {
    // Every route with one of these methods reads a body, and no other does.
    let awaits_body = matches!(*request.method(), Method::POST | Method::PUT);
    let changes = !request.method().is_safe();
    let admitting = Arc::new(Admitting { limits, changes, awaits_body, admitted: Mutex::default() });
    let body = mem::take(request.body_mut());
    if awaits_body {
        *request.body_mut() = Body::new(QueuedBody::new(body, Arc::clone(&admitting)));
    }
    request.extensions_mut().insert(Admission(Some(Arc::clone(&admitting))));
    let mut response = next.run(request).await;
    let (refusal, status) = {
        let mut admitted = admitting.admitted();
        (admitted.refusal.take(), admitted.status)
    };
    if let Some(refusal) = refusal {
        response = refusal.into_response();
    }
    if let Some(status) = status {
        status.apply_headers(&mut response);
    }
    response
}

impl Admission {
    /// Counts the request as one of `party`, which is known now.
    pub(super) fn count(&self, company: CompanyId, party: Party) -> Result<(), Problem> {
        let Some(admitting) = &self.0 else { return Ok(()) };
        let status = admitting.limits.0.count_for_party(company, &party);
        let mut admitted = admitting.admitted();
        (admitted.status, admitted.party) = (Some(status), Some((company, party)));
        if status.allowed { Ok(()) } else { Err(status.problem()) }
    }

    /// Waits for the turn of the request, which may be made as far as is known. If it has a body, the end of that waits instead.
    pub(super) async fn enter(&self) -> Result<(), Problem> {
        let Some(admitting) = self.0.as_ref().filter(|admitting| !admitting.awaits_body) else { return Ok(()) };
        let Some(waiting) = admitting.begin(0)? else { return Ok(()) };
        let turn = waiting.turn().await;
        admitting.has_turn(turn)
    }

    /// What follows holds no connection of the pool, so the next request of the company may begin.
    pub fn leave_line(&self) {
        if let Some(admitting) = &self.0 {
            admitting.admitted().turn = None;
        }
    }
}

impl Admitting {
    /// Takes the places for a body of so many bytes, unless it has them. That of a request of nobody takes none.
    fn hold_body(&self, size: usize) -> Result<(), Problem> {
        let mut admitted = self.admitted();
        let Some((company, party)) = admitted.party.clone() else { return Ok(()) };
        admitted.hold(&self.limits.0, (company, &party), size)
    }

    /// Takes a turn if it comes at once, otherwise a place in the line, and those for a body of so many bytes. A request of nobody takes none.
    fn begin(&self, size: usize) -> Result<Option<Waiting<CompanyId, Party>>, Problem> {
        let mut admitted = self.admitted();
        let Some((company, party)) = admitted.party.take() else { return Ok(None) };
        let limits = &self.limits.0;
        if let Some(status) = limits.count_permitted(company, &party, self.changes) {
            if admitted.status.is_none_or(|of_party| status.remaining <= of_party.remaining) {
                admitted.status = Some(status);
            }
            if !status.allowed {
                return Err(status.problem());
            }
        }
        match limits.lines.enter(company, party.clone()) {
            Ok(Entered::Turn(turn)) => {
                admitted.start(turn);
                Ok(None)
            }
            Ok(Entered::Waiting(waiting)) => {
                admitted.hold(limits, (company, &party), size)?;
                Ok(Some(waiting))
            }
            Err(LineFull) => Err(self.is_full()),
        }
    }

    /// The turn that was waited for has come, or has not.
    fn has_turn(&self, turn: Result<Turn<CompanyId, Party>, LineFull>) -> Result<(), Problem> {
        let turn = turn.map_err(|LineFull| self.is_full())?;
        self.admitted().start(turn);
        Ok(())
    }

    fn is_full(&self) -> Problem {
        let at_once = self.limits.0.at_once;
        Problem::new(ProblemCode::RateLimited).detail(format!(
            "The company has {at_once} requests under way at most, and one key, operator or owner four fifths of them. Too many are waiting."
        ))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_leaves_a_fifth_of_the_minute_to_the_others() {
        let share = |per_minute| share_of(NonZeroU32::new(per_minute).unwrap()).get();
        assert_eq!([1, 3, 4, 5, 10, 60_000].map(share), [1, 3, 4, 4, 8, 48_000]);
    }
}
