//! The body of a request: its size is limited on every route, and so is the time for it.
//!
//! It is received when the route asks for it, so whoever is refused before, by a key or a limit, costs no memory. One that declares a size beyond
//! the limit is refused at once; one of an unknown size ends where more arrives than the route takes.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use hyper::body::{Frame, SizeHint};

use crate::kernel::problem::{Problem, ProblemCode};

/// The maximum size of a body: 256 KiB, unless the route takes more. Decisions, section 1.
pub const BODY_LIMIT: usize = 256 * 1024;

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
    /// The size of the body, which it does not exceed.
    pub fn size(&self) -> usize {
        size(self.request.body())
    }

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

/// The size of a body in bytes: the one that it declares, or that of the largest that its route takes.
pub fn size(body: &Body) -> usize {
    body.size_hint().upper().and_then(|upper| usize::try_from(upper).ok()).unwrap_or(usize::MAX)
}

/// A route, as it is matched, that takes larger bodies, and their maximum size.
pub type LargerBody = (&'static str, usize);

/// The maximum sizes of bodies by route.
#[derive(Clone, Debug, Default)]
pub struct BodyLimits {
    larger: Vec<LargerBody>,
}

impl BodyLimits {
    /// [`BODY_LIMIT`] for all routes but these.
    pub fn new(larger: impl IntoIterator<Item = LargerBody>) -> Self {
        Self { larger: larger.into_iter().collect() }
    }

    fn of(&self, route: Option<&str>) -> usize {
        self.larger.iter().find(|(larger, _)| Some(*larger) == route).map_or(BODY_LIMIT, |(_, limit)| *limit)
    }

    /// The request with a body that cannot be larger than the route allows, and whose arrival is noted. A declared size beyond the limit is refused
    /// before anything is read, so a client that asks first (`Expect: 100-continue`) is not told to go on.
    pub fn bound(&self, request: Request, route: Option<&str>, arrival: &Arrival) -> Result<Request, Problem> {
        let limit = self.of(route);
        if request.body().size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
            return Err(ProblemCode::BodyTooLarge.into());
        }
        let Some(stage) = &arrival.0 else { return Ok(request) };
        Ok(request.map(|body| Body::new(Bounded { body, left: limit, stage: Arc::clone(stage) })))
    }
}

/// How far the body of a request has come. A request without one costs nothing.
#[derive(Debug)]
pub struct Arrival(Option<Arc<Mutex<Stage>>>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Some of it is to be read, or all.
    #[default]
    Unread,
    /// It was asked for and is not there.
    Awaited,
    Whole,
    /// More has arrived than the route takes.
    TooLarge,
}

impl Arrival {
    /// That of the request's body.
    pub fn of(request: &Request) -> Self {
        Self((!request.body().is_end_stream()).then(Arc::default))
    }

    /// Whether the body was asked for and has not ended yet.
    pub fn is_awaited(&self) -> bool {
        self.stage() == Some(Stage::Awaited)
    }

    /// Whether more has arrived than the route takes. Whoever reads learns only that there is no whole body.
    pub fn is_too_large(&self) -> bool {
        self.stage() == Some(Stage::TooLarge)
    }

    /// Whether the request has a body of which something was left unread.
    pub fn is_left(&self) -> bool {
        self.stage().is_some_and(|stage| stage != Stage::Whole)
    }

    fn stage(&self) -> Option<Stage> {
        self.0.as_ref().map(|stage| *stage.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A body of a route that takes so much.
struct Bounded {
    body: Body,
    /// The bytes that may still come.
    left: usize,
    stage: Arc<Mutex<Stage>>,
}

/// More has arrived than the route takes.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the body is too large")]
struct TooLarge;

impl Bounded {
    /// Counts what has arrived.
    fn count(&mut self, frame: &Frame<Bytes>) -> Result<(), TooLarge> {
        let size = frame.data_ref().map_or(0, Bytes::len);
        self.left = self.left.checked_sub(size).ok_or(TooLarge)?;
        Ok(())
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let (stage, polled) = match polled {
            Poll::Pending => (Stage::Awaited, Poll::Pending),
            Poll::Ready(None) => (Stage::Whole, Poll::Ready(None)),
            Poll::Ready(Some(Ok(frame))) => match self.count(&frame) {
                Ok(()) => (Stage::Unread, Poll::Ready(Some(Ok(frame)))),
                Err(too_large) => (Stage::TooLarge, Poll::Ready(Some(Err(axum::Error::new(too_large))))),
            },
            Poll::Ready(Some(Err(error))) => (Stage::Unread, Poll::Ready(Some(Err(error)))),
        };
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    /// The upper bound of an unknown size is what the route takes.
    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        if hint.upper().is_none() {
            hint.set_upper(hint.lower().max(u64::try_from(self.left).unwrap_or(u64::MAX)));
        }
        hint
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
