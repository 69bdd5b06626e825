//! The outcome of one POST: the response, as far as one arrived, and the fault, if there was one. It is never an internal error.

use std::error::Error;
use std::io;
use std::iter::successors;

use axum::http::{HeaderMap, StatusCode, header};
use chrono::{DateTime, TimeDelta, Utc};

use crate::webhooks::delivery_state::Verdict;
use crate::webhooks::targets::TargetError;

/// The outcome of one POST.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The response, as far as it arrived.
    pub answer: Option<Answer>,
    /// Why no response arrived, or not all of it.
    pub fault: Option<Fault>,
    /// The end of the certificate that the endpoint presented, if it presented one.
    pub certificate_expires_at: Option<DateTime<Utc>>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The part of the body that is kept.
    pub body: Vec<u8>,
}

/// Why an attempt has no response, or an incomplete one. The attempt log shows these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None of the endpoint's addresses may be connected to.
    Blocked,
    /// The host name does not resolve.
    Dns,
    /// No connection could be made, or not within the connect timeout.
    Connect,
    /// The certificate is not trusted, or the TLS handshake failed.
    Tls,
    /// No response before the deadline.
    Timeout,
    /// The response was incomplete at the deadline.
    TooSlow,
    /// The connection was closed before the response was complete, or the response is not HTTP.
    Closed,
    /// The signing secret cannot be decrypted, so nothing was sent.
    Unsigned,
    /// The worker died before it recorded the result.
    Interrupted,
}

impl Fault {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::TooSlow => "too_slow",
            Self::Closed => "closed",
            Self::Unsigned => "unsigned",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Fault> for Outcome {
    fn from(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
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

impl From<&reqwest::Error> for Fault {
    fn from(error: &reqwest::Error) -> Self {
        for cause in causes(error) {
            if let Some(reason) = cause.downcast_ref::<TargetError>() {
                return reason.into();
            }
            if cause.is::<rustls::Error>() {
                return Self::Tls;
            }
        }
        if error.is_connect() { Self::Connect } else { Self::Closed }
    }
}

/// The errors behind the error of the client, the outermost first.
pub(super) fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(error.source(), |error| cause(*error))
}

/// The `source` of an `io::Error` is not the error it wraps but the source of that error.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source())
}

impl Outcome {
    /// The verdict on the attempt: a complete 2xx response acknowledges, 410 means that the endpoint is gone, and everything else
    /// fails, including redirects.
    pub fn verdict(&self, ended_at: DateTime<Utc>) -> Verdict {
        match (&self.answer, self.fault) {
            (Some(answer), None) if answer.status.is_success() => Verdict::Acknowledged,
            (Some(answer), None) if answer.status == StatusCode::GONE => Verdict::Gone,
            (Some(answer), None) => Verdict::Failed { retry_after: answer.retry_after(ended_at) },
            (_, Some(_)) | (None, None) => Verdict::Failed { retry_after: None },
        }
    }
}

impl Answer {
    /// The wait that a 429 or 503 response requests, in seconds or as a date.
    fn retry_after(&self, ended_at: DateTime<Utc>) -> Option<TimeDelta> {
        if !matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            return None;
        }
        let value = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
        match value.parse::<u32>() {
            Ok(seconds) => Some(TimeDelta::seconds(seconds.into())),
            Err(_) => Some(DateTime::parse_from_rfc2822(value).ok()?.to_utc() - ended_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(status: u16, retry_after: &str) -> Verdict {
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, retry_after.parse().unwrap())]);
        let answer = Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: Vec::new() };
        Outcome { answer: Some(answer), ..Outcome::default() }.verdict("2026-05-21T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn any_2xx_acknowledges_410_takes_leave_and_the_rest_fails() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(verdict(status, ""), Verdict::Acknowledged, "{status}");
        }
        for status in [301, 302, 304, 307, 308, 400, 401, 404, 429, 500, 503] {
            assert_eq!(verdict(status, ""), Verdict::Failed { retry_after: None }, "{status}");
        }
        assert_eq!(verdict(410, ""), Verdict::Gone);
    }

    #[test]
    fn only_429_and_503_ask_for_patience_in_seconds_or_as_a_date() {
        let retry_after = |status, value| match verdict(status, value) {
            Verdict::Failed { retry_after } => retry_after.map(|wait| wait.num_seconds()),
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!(retry_after(429, "120"), Some(120));
        assert_eq!(retry_after(503, "Thu, 21 May 2026 13:00:00 GMT"), Some(3600));
        assert_eq!(retry_after(500, "120"), None);
        for value in ["soon", "-1", "1.5", "99999999999999999999"] {
            assert_eq!(retry_after(429, value), None, "{value:?}");
        }
    }

    #[test]
    fn an_answer_that_broke_off_acknowledges_nothing() {
        let answer = Answer { status: StatusCode::OK, headers: HeaderMap::new(), body: Vec::new() };
        let outcome = Outcome { answer: Some(answer), fault: Some(Fault::Closed), ..Outcome::default() };
        assert_eq!(outcome.verdict(DateTime::UNIX_EPOCH), Verdict::Failed { retry_after: None });
    }
}
