//! One POST as it is sent, once or several times, and what its connection tells about it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Bytes;
use axum::http::{Extensions, HeaderMap, Method, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::{Request, Response};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};

use crate::webhooks::sending::connector::Connector;
use crate::webhooks::sending::fault::{Fault, concerns_one_stream, is_unreadable};
use crate::webhooks::sending::traffic::Traffic;

/// Sends over connections to endpoints.
pub type Client = legacy::Client<Connector, Content>;

/// The body of a request. It notes when its connection takes it: on a connection of HTTP/1, all that comes afterwards belongs to the answer.
#[derive(Debug)]
pub struct Content {
    bytes: Full<Bytes>,
    taken_at: Arc<OnceLock<Instant>>,
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let _ = self.taken_at.set(Instant::now());
        Pin::new(&mut self.bytes).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.size_hint()
    }
}

/// A POST, and how it was sent last.
pub struct Post {
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    sends: i16,
    last: Option<LastSend>,
}

struct LastSend {
    begun_at: Instant,
    taken_at: Arc<OnceLock<Instant>>,
    connection: CaptureConnection,
}

impl Post {
    pub fn new(uri: Uri, headers: HeaderMap, body: Bytes) -> Self {
        Self { uri, headers, body, sends: 0, last: None }
    }

    /// Sends it.
    pub async fn send(&mut self, client: &Client) -> Result<Response<Incoming>, legacy::Error> {
        let taken_at = Arc::<OnceLock<Instant>>::default();
        let mut request = Request::new(Content { bytes: Full::new(self.body.clone()), taken_at: Arc::clone(&taken_at) });
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let connection = capture_connection(&mut request);
        self.sends += 1;
        self.last = Some(LastSend { begun_at: Instant::now(), taken_at, connection });
        client.request(request).await
    }

    /// How often it was sent again.
    pub fn resends(&self) -> i16 {
        (self.sends - 1).max(0)
    }

    /// Whether it met the end of a connection that was kept from before, and nothing of an answer came. Servers end connections that have
    /// nothing to do, also at the moment at which a request is on its way.
    pub fn met_the_end_of_a_kept_connection(&self, error: &legacy::Error) -> bool {
        // Before anything is sent, the client itself goes on to a new connection. If there is none, the one that is known is the old one.
        if error.is_connect() {
            return false;
        }
        let (Some(last), Some(traffic)) = (&self.last, self.traffic()) else { return false };
        let is_unanswered = if traffic.speaks_http2() {
            !concerns_one_stream(error)
        } else {
            last.taken_at.get().is_none_or(|taken_at| traffic.is_silent_since(*taken_at))
        };
        is_unanswered && traffic.is_kept(last.begun_at)
    }

    /// The status of the answer, if its status line came. The client tells it only together with the header lines.
    pub fn status(&self) -> Option<StatusCode> {
        self.traffic()?.status_since(*self.last.as_ref()?.taken_at.get()?)
    }

    /// Why there is no answer, or nothing but its status line.
    pub fn fault(&self, error: &legacy::Error) -> Fault {
        match Fault::from(error) {
            Fault::Closed | Fault::Tls(_) if self.status().is_some() => {
                if is_unreadable(error) {
                    Fault::BadHeaders
                } else {
                    Fault::Closed
                }
            }
            // The client may tell no more than the end of the connection.
            fault @ (Fault::Closed | Fault::Tls(_)) => {
                self.traffic().and_then(|traffic| traffic.tls_ended_with()).map_or(fault, Fault::Tls)
            }
            fault => fault,
        }
    }

    /// What came over the connection that took it last.
    fn traffic(&self) -> Option<Traffic> {
        let mut known = Extensions::new();
        self.last.as_ref()?.connection.connection_metadata().as_ref()?.get_extras(&mut known);
        known.remove()
    }
}
