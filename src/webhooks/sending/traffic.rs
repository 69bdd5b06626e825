//! What came over a connection from its endpoint, noted beside the client.
//!
//! The client tells an answer or an error. What an error means also depends on what it does not tell: whether the connection was there
//! before the request, whether anything of an answer came, what its status line was, and what TLS ended with.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;

use crate::webhooks::sending::status_line::StatusLine;
use crate::webhooks::sending::tls_reason::TlsReason;

/// What came over one connection so far. Clones share it.
#[derive(Clone, Debug)]
pub struct Traffic {
    opened_at: Instant,
    speaks_http2: bool,
    noted: Arc<Mutex<Noted>>,
}

#[derive(Debug, Default)]
struct Noted {
    /// Whether a request was answered.
    answered: bool,
    /// When the endpoint last sent something.
    received_at: Option<Instant>,
    /// The status line of the answer to the latest request, with HTTP/1.
    status_line: StatusLine,
    /// Whether something was sent since anything was received.
    is_asked: bool,
    tls_ended_with: Option<TlsReason>,
}

impl Traffic {
    /// The traffic of a new connection.
    pub fn new(speaks_http2: bool) -> Self {
        Self { opened_at: Instant::now(), speaks_http2, noted: Arc::default() }
    }

    /// Whether several requests can be under way at a time.
    pub fn speaks_http2(&self) -> bool {
        self.speaks_http2
    }

    /// The endpoint has answered a request.
    pub fn note_answer(&self) {
        self.noted().answered = true;
    }

    /// Something is being sent. The first of it after something was received belongs to another request: connections of HTTP/1 have one at a
    /// time, and the rest of a request that was answered early has no use any more.
    pub fn note_sending(&self) {
        let mut noted = self.noted();
        if !noted.is_asked {
            noted.is_asked = true;
            noted.status_line = StatusLine::default();
        }
    }

    /// The endpoint has sent this; nothing if it has closed its side.
    pub fn note_received(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut noted = self.noted();
        noted.received_at = Some(Instant::now());
        noted.is_asked = false;
        if !self.speaks_http2 {
            noted.status_line.read(bytes);
        }
    }

    /// TLS has ended.
    pub fn note_end_of_tls(&self, reason: TlsReason) {
        self.noted().tls_ended_with = Some(reason);
    }

    /// Whether the connection was not opened for a request that began at this instant.
    pub fn is_kept(&self, begun_at: Instant) -> bool {
        self.opened_at < begun_at || self.noted().answered
    }

    /// Whether the endpoint has sent nothing since this instant.
    pub fn is_silent_since(&self, instant: Instant) -> bool {
        self.noted().received_at.is_none_or(|received_at| received_at < instant)
    }

    /// The status in the status line that came since this instant.
    pub fn status_since(&self, instant: Instant) -> Option<StatusCode> {
        if self.is_silent_since(instant) { None } else { self.noted().status_line.status() }
    }

    /// What TLS ended with, if something ended it.
    pub fn tls_ended_with(&self) -> Option<TlsReason> {
        self.noted().tls_ended_with
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_status_line_belongs_to_the_request_before_it() {
        let (traffic, begun_at) = (Traffic::new(false), Instant::now());
        traffic.note_sending();
        assert!(traffic.is_silent_since(begun_at));
        traffic.note_received(b"HTTP/1.1 200 OK\r\n");
        traffic.note_received(b"content-length: 0\r\n\r\n");
        assert_eq!(traffic.status_since(begun_at), Some(StatusCode::OK));

        let next = Instant::now() + Duration::from_nanos(1);
        assert_eq!(traffic.status_since(next), None, "it came before");
        assert!(traffic.is_silent_since(next));
        for _ in 0..2 {
            traffic.note_sending();
        }
        traffic.note_received(b"HTTP/1.1 5");
        assert_eq!((traffic.status_since(next), traffic.is_silent_since(next)), (None, false));
        traffic.note_received(b"03 Later\r\n");
        assert_eq!(traffic.status_since(next), Some(StatusCode::SERVICE_UNAVAILABLE));
    }

    #[test]
    fn a_closed_side_is_no_byte_of_an_answer() {
        let (traffic, begun_at) = (Traffic::new(false), Instant::now());
        traffic.note_sending();
        traffic.note_received(b"");
        assert!(traffic.is_silent_since(begun_at));
    }

    #[test]
    fn a_connection_is_kept_if_it_was_there_before_or_has_carried_an_answer() {
        let before = Instant::now();
        let traffic = Traffic::new(true);
        assert!(!traffic.is_kept(before));
        traffic.note_answer();
        assert!(traffic.is_kept(before));
        assert!(Traffic::new(false).is_kept(Instant::now() + Duration::from_secs(1)));
    }

    #[test]
    fn what_comes_over_a_connection_of_http2_is_no_status_line() {
        let (traffic, begun_at) = (Traffic::new(true), Instant::now());
        traffic.note_sending();
        traffic.note_received(b"HTTP/1.1 200 OK\r\n");
        assert_eq!(traffic.status_since(begun_at), None);
    }
}
