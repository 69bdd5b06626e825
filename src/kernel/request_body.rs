//! The body of a request: its size is limited on every route, also on those that read none, and so is the time for it.
//!
//! A body of a declared size is received when the route asks for it, so whoever is refused before, by a key or a limit, costs no memory. One of
//! an unknown size is received first, because it may turn out to be too large; few of these may be on their way.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Frame, SizeHint};
use ipnet::IpNet;

use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::ConcurrencyLimiter;

/// The maximum size of a body: 256 KiB, unless the route takes more. Decisions, section 1.
pub const BODY_LIMIT: usize = 256 * 1024;
/// The maximum number of bodies of an unknown size that are on their way, from one client network and in all.
const UNMEASURED_OF_EACH: usize = 16;
const UNMEASURED_OF_ALL: usize = 128;

/// Refuses a body with a `Content-Encoding` such as `gzip`: no coding is undone here, so it would be read as something else. Some clients put the
/// charset of JSON into this header, which changes nothing.
pub fn must_be_plain(headers: &HeaderMap) -> Result<(), Problem> {
    let values = headers.get_all(header::CONTENT_ENCODING).iter().map(|value| value.to_str().unwrap_or("unreadable"));
    if values.flat_map(|value| value.split(',')).map(str::trim).all(is_plain) {
        return Ok(());
    }
    Err(Problem::new(ProblemCode::MediaTypeUnsupported).detail("The body must be sent as it is, without a Content-Encoding."))
}

fn is_plain(coding: &str) -> bool {
    ["", "identity", "utf-8", "utf8"].iter().any(|plain| coding.eq_ignore_ascii_case(plain))
}

/// A body that nobody has asked for yet: the handler first decides whether the caller may do what the route does.
#[derive(Debug)]
pub struct Unread<B> {
    request: Request,
    read_as: PhantomData<fn() -> B>,
}

impl<B: FromRequest<()>> Unread<B> {
    /// Receives the body.
    pub async fn read(self) -> Result<B, B::Rejection> {
        B::from_request(self.request, &()).await
    }
}

impl<S: Send + Sync, B> FromRequest<S> for Unread<B> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Self { request, read_as: PhantomData })
    }
}

/// A route, as it is matched, that takes larger bodies, and their maximum size.
pub type LargerBody = (&'static str, usize);

/// The maximum sizes of bodies by route.
#[derive(Clone, Debug)]
pub struct BodyLimits {
    larger: Vec<LargerBody>,
    unmeasured: Arc<ConcurrencyLimiter<IpNet>>,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self::new([])
    }
}

impl BodyLimits {
    /// [`BODY_LIMIT`] for all routes but these.
    pub fn new(larger: impl IntoIterator<Item = LargerBody>) -> Self {
        let unmeasured = Arc::new(ConcurrencyLimiter::new(UNMEASURED_OF_EACH, UNMEASURED_OF_ALL));
        Self { larger: larger.into_iter().collect(), unmeasured }
    }

    fn of(&self, route: Option<&str>) -> usize {
        self.larger.iter().find(|(larger, _)| Some(*larger) == route).map_or(BODY_LIMIT, |(_, limit)| *limit)
    }

    /// The request with a body that cannot be larger than the route allows, and whether it has arrived. A declared size beyond the limit is refused
    /// before anything is read, so a client that asks first (`Expect: 100-continue`) is not told to go on.
    pub async fn bound(&self, request: Request, route: Option<&str>, client: IpNet, arrival: &Arrival) -> Result<Request, Problem> {
        let limit = self.of(route);
        let size = request.body().size_hint();
        if size.lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
            return Err(ProblemCode::BodyTooLarge.into());
        }
        let Some(is_awaited) = &arrival.0 else { return Ok(request) };
        let (parts, body) = request.into_parts();
        let body = Body::new(Watched { body, is_awaited: Arc::clone(is_awaited) });
        if size.exact().is_some() {
            return Ok(Request::from_parts(parts, body));
        }
        let _place = self.unmeasured.enter(client).map_err(|_| ProblemCode::Overloaded)?;
        let whole = Limited::new(body, limit).collect().await.map_err(|error| match error.is::<LengthLimitError>() {
            true => Problem::new(ProblemCode::BodyTooLarge),
            false => Problem::new(ProblemCode::BadRequest).detail("The body did not arrive as a whole."),
        })?;
        Ok(Request::from_parts(parts, Body::from(whole.to_bytes())))
    }
}

/// Whether a body that somebody waits for has arrived. A request without one costs nothing.
#[derive(Debug)]
pub struct Arrival(Option<Arc<AtomicBool>>);

impl Arrival {
    /// That of the request's body.
    pub fn of(request: &Request) -> Self {
        Self((!request.body().is_end_stream()).then(Arc::default))
    }

    /// Whether the body was asked for and has not ended yet.
    pub fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(|is_awaited| is_awaited.load(Ordering::Relaxed))
    }
}

/// A body whose arrival is noted.
struct Watched {
    body: Body,
    is_awaited: Arc<AtomicBool>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.is_awaited.store(polled.is_pending(), Ordering::Relaxed);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_body_that_is_sent_as_it_is_is_read() {
        let is_read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_ENCODING, value.parse().unwrap());
            }
            must_be_plain(&headers).is_ok()
        };
        assert!(is_read(&[]) && is_read(&["identity"]) && is_read(&["Identity, identity"]) && is_read(&["UTF-8"]) && is_read(&[""]));
        for encoded in [&["gzip"][..], &["br"], &["identity", "gzip"], &["identity,deflate"], &["x-unknown"]] {
            assert!(!is_read(encoded), "{encoded:?}");
        }
    }
}
