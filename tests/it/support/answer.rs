//! Responses.

use axum::http::HeaderMap;
use serde_json::Value;

/// A response whose body has been read completely.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// `null` when the body is not JSON.
    pub body: Value,
}

impl Answer {
    pub async fn read(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        let answer = Self { status, headers, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) };
        assert_eq!(answer.headers["x-request-id"].len(), 32, "every response has a request id: {answer:?}");
        if status >= 400 {
            answer.is_a_problem();
        }
        answer
    }

    /// Every error response has the form of decisions, section 1.
    fn is_a_problem(&self) {
        let body = &self.body;
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        assert_eq!(body["status"], self.status, "{self:?}");
        assert_eq!(body["type"], format!("/problems/{}", body["code"].as_str().unwrap()));
        assert!(body["title"].is_string() && body["detail"].is_string(), "{self:?}");
        assert_eq!(body["error"], body["detail"]);
        let names_fields = ["body_invalid", "endpoint_forbidden"].contains(&body["code"].as_str().unwrap());
        assert!(body.get("fields").is_none() || names_fields, "another problem has no `fields`: {self:?}");
        assert!(body["errors"].as_array().unwrap().iter().all(Value::is_string), "{self:?}");
        assert_eq!(self.headers["x-request-id"], body["request_id"].as_str().unwrap());
        let wait = self.headers.get("retry-after").map(|wait| wait.to_str().unwrap().parse::<u64>().unwrap());
        assert_eq!(wait, body["retry_after"].as_u64(), "{self:?}");
        if matches!(self.status, 423 | 429 | 503) {
            assert!(wait.unwrap() >= 1, "{self:?}");
        }
    }

    /// Asserts that the response is a success with this status; returns its body.
    #[track_caller]
    pub fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{:?}", self.body);
        self.body
    }

    /// Asserts that the response is this error; returns its body.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status, self.body["code"].as_str()), (status, Some(code)), "{:?}", self.body);
        self.body
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}
