//! Why an attempt has no response, or an incomplete one.

use std::error::Error;
use std::io;
use std::iter::successors;

use hyper_util::client::legacy;

use crate::webhooks::sending::connector::ConnectError;
use crate::webhooks::sending::tls_reason::TlsReason;
use crate::webhooks::targets::TargetError;

/// Why an attempt has no response, or an incomplete one. The attempt log shows these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None of the endpoint's addresses may be connected to.
    Blocked,
    /// The host name does not resolve.
    Dns,
    /// No connection could be made, or not within the connect timeout.
    Connect,
    /// The certificate is not trusted, or the TLS handshake failed or did not end in time.
    Tls(TlsReason),
    /// No response before the deadline.
    Timeout,
    /// The response body was incomplete at the deadline.
    TooSlow,
    /// The response has more headers, or longer ones, than a client accepts.
    TooManyHeaders,
    /// The header lines of the response cannot be read.
    BadHeaders,
    /// The connection was closed before the response was complete, or the response is not HTTP.
    Closed,
    /// The signing secret cannot be decrypted, so nothing was sent.
    Unsigned,
    /// The worker died before it recorded the result.
    Interrupted,
}

impl Fault {
    /// Every word of [`Self::as_str`].
    pub const WORDS: [&str; 11] =
        ["blocked", "dns", "connect", "tls", "timeout", "too_slow", "too_many_headers", "bad_headers", "closed", "unsigned", "interrupted"];

    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls(_) => "tls",
            Self::Timeout => "timeout",
            Self::TooSlow => "too_slow",
            Self::TooManyHeaders => "too_many_headers",
            Self::BadHeaders => "bad_headers",
            Self::Closed => "closed",
            Self::Unsigned => "unsigned",
            Self::Interrupted => "interrupted",
        }
    }

    /// What a word of the log means, in a sentence; `None` for a word that only a newer version writes.
    pub fn sentence(word: &str) -> Option<&'static str> {
        Some(match word {
            "blocked" => "The name leads to an address that deliveries may not go to.",
            "dns" => "The host name does not resolve.",
            "connect" => "No connection could be made.",
            "tls" => "The certificate is not trusted, or the TLS handshake failed.",
            "timeout" => "There was no answer in time.",
            "too_slow" => "The answer was not complete in time.",
            "too_many_headers" | "bad_headers" => "The headers of the answer could not be read.",
            "closed" => "The connection was closed before there was a whole answer.",
            "unsigned" => "Nothing was sent: the signing secret cannot be decrypted.",
            "interrupted" => "The worker ended before the result was recorded.",
            _ => return None,
        })
    }

    /// The word that says more.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Tls(reason) => Some(reason.as_str()),
            _ => None,
        }
    }
}

impl From<&TargetError> for Fault {
    fn from(reason: &TargetError) -> Self {
        match reason {
            TargetError::Blocked => Self::Blocked,
            TargetError::Unresolved(_) => Self::Dns,
        }
    }
}

impl From<&legacy::Error> for Fault {
    fn from(error: &legacy::Error) -> Self {
        for cause in causes(error) {
            if let Some(reason) = cause.downcast_ref::<TargetError>() {
                return reason.into();
            }
            match cause.downcast_ref() {
                Some(ConnectError::Tls { reason, .. }) => return Self::Tls(*reason),
                Some(ConnectError::TlsTimeout) => return Self::Tls(TlsReason::Timeout),
                Some(ConnectError::Tcp(_)) | None => {}
            }
            if let Some(error) = cause.downcast_ref::<rustls::Error>() {
                return Self::Tls(TlsReason::of_tls(error, false));
            }
            if cause.downcast_ref().is_some_and(hyper::Error::is_parse_too_large) {
                return Self::TooManyHeaders;
            }
        }
        if error.is_connect() { Self::Connect } else { Self::Closed }
    }
}

/// Whether the endpoint has certainly not processed the request: it said so before it closed the connection (GOAWAY without an
/// error, as proxies send it after some hundred requests) or the stream (REFUSED_STREAM), as RFC 9113, section 8.7 says.
pub fn is_unprocessed(error: &legacy::Error) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<h2::Error>()).any(|error| {
        let is_sent_away = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
        let is_refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (is_sent_away || is_refused)
    })
}

/// Whether the answer is not HTTP, or has header lines that cannot be read.
pub fn is_unreadable(error: &legacy::Error) -> bool {
    causes(error).any(|cause| cause.downcast_ref().is_some_and(hyper::Error::is_parse))
}

/// Whether the connection of HTTP/2 goes on, or ended because what came over it was not HTTP/2.
pub fn concerns_one_stream(error: &legacy::Error) -> bool {
    let mut of_http2 = causes(error).filter_map(|cause| cause.downcast_ref::<h2::Error>());
    of_http2.any(|error| error.is_reset() || error.is_library())
}

/// Whether nothing was sent for a reason that often passes within seconds: a server that restarts refuses connections, and a name
/// server that is busy or new does not know a name.
pub fn may_pass_soon(error: &legacy::Error) -> bool {
    causes(error).any(|cause| match cause.downcast_ref() {
        Some(TargetError::Unresolved(reason)) => reason.kind() != io::ErrorKind::TimedOut,
        _ => cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused),
    })
}

/// The errors behind the error of the client, the outermost first.
pub fn causes(error: &legacy::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(error.source(), |error| cause(*error))
}

/// The `source` of an `io::Error` is not the error it wraps but the source of that error.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source())
}
