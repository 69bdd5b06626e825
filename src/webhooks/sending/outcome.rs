//! The outcome of one POST: the response, as far as one arrived, and the fault, if there was one. It is never an internal error.

use axum::http::{HeaderMap, StatusCode, header};
use chrono::{DateTime, TimeDelta, Utc};

use crate::webhooks::delivery_state::Verdict;
use crate::webhooks::sending::fault::Fault;
use crate::webhooks::sending::retry_after;

/// The outcome of one POST.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The response, as far as it arrived.
    pub answer: Option<Answer>,
    /// Why no response arrived, or not all of it.
    pub fault: Option<Fault>,
    /// The end of the certificate that the endpoint presented, if it presented one.
    pub certificate_expires_at: Option<DateTime<Utc>>,
    /// How often the request was sent again.
    pub resends: i16,
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The part of the body that is kept.
    pub body: Vec<u8>,
}

impl From<Fault> for Outcome {
    fn from(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }
}

impl Outcome {
    /// The verdict on the attempt, by the status line alone: 2xx acknowledges, 410 means that the endpoint is gone, and everything else
    /// fails, including redirects. What the header lines look like and what becomes of the body does not matter: an endpoint that has said
    /// 200 has taken the event.
    pub fn verdict(&self, ended_at: DateTime<Utc>) -> Verdict {
        match &self.answer {
            Some(answer) if answer.status.is_success() => Verdict::Acknowledged,
            Some(answer) if answer.status == StatusCode::GONE => Verdict::Gone,
            Some(answer) => Verdict::Failed { retry_after: answer.retry_after(ended_at) },
            None => Verdict::Failed { retry_after: None },
        }
    }
}

impl Answer {
    /// An answer of which nothing but the status line could be read.
    pub fn of_status(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Vec::new() }
    }

    /// The wait that a 429 or 503 response requests.
    fn retry_after(&self, ended_at: DateTime<Utc>) -> Option<TimeDelta> {
        if !matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            return None;
        }
        retry_after::wait(self.headers.get(header::RETRY_AFTER)?.to_str().ok()?, ended_at)
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
    fn only_429_and_503_ask_for_patience() {
        let retry_after = |status, value| match verdict(status, value) {
            Verdict::Failed { retry_after } => retry_after.map(|wait| wait.num_seconds()),
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!(retry_after(429, "120"), Some(120));
        assert_eq!(retry_after(503, "Thu, 21 May 2026 13:00:00 GMT"), Some(3600));
        assert_eq!(retry_after(500, "120"), None);
        assert_eq!(retry_after(429, "soon"), None);
    }

    #[test]
    fn an_answer_of_which_there_is_only_the_status_line_counts_by_it() {
        for (status, verdict) in [(200, Verdict::Acknowledged), (410, Verdict::Gone), (503, Verdict::Failed { retry_after: None })] {
            let answer = Some(Answer::of_status(StatusCode::from_u16(status).unwrap()));
            let outcome = Outcome { answer, fault: Some(Fault::BadHeaders), ..Outcome::default() };
            assert_eq!(outcome.verdict(DateTime::UNIX_EPOCH), verdict);
        }
    }

    #[test]
    fn an_answer_that_broke_off_counts_by_its_status() {
        for fault in [Fault::Closed, Fault::TooSlow] {
            let verdict = |status, headers| {
                let answer = Answer { status, headers, body: Vec::new() };
                Outcome { answer: Some(answer), fault: Some(fault), ..Outcome::default() }.verdict(DateTime::UNIX_EPOCH)
            };
            assert_eq!(verdict(StatusCode::OK, HeaderMap::new()), Verdict::Acknowledged);
            assert_eq!(verdict(StatusCode::GONE, HeaderMap::new()), Verdict::Gone);
            let patience = HeaderMap::from_iter([(header::RETRY_AFTER, "120".parse().unwrap())]);
            let wait = Verdict::Failed { retry_after: Some(TimeDelta::seconds(120)) };
            assert_eq!(verdict(StatusCode::SERVICE_UNAVAILABLE, patience), wait);
        }
    }
}
