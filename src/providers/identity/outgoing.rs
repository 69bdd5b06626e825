//! Asking a provider: bounded in time and size, no redirects, and nothing of what was asked or answered in an error.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;

use crate::providers::body::{self, Unread};
use crate::providers::identity::BadSettings;

/// What came back.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

/// Nothing usable came back.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It could not be sent, or broke off.
    #[error("the request failed")]
    Failed(#[source] reqwest::Error),
    /// Nobody means that well.
    #[error("the answer is longer than {} bytes", body::LIMIT)]
    TooLong,
    /// A refusal.
    #[error("the answer has status {0}")]
    Status(StatusCode),
    /// Something else than was asked for. Without what the parser says: that may quote a token.
    #[error("the answer is not what it should be")]
    NotUnderstood,
}

/// A client for one provider.
pub(super) fn client(timeout: Duration) -> Result<Client, BadSettings> {
    let built = Client::builder().timeout(timeout).redirect(Policy::none()).build();
    built.map_err(|error| BadSettings::new("providers", error.to_string()))
}

/// Sends the request and reads the whole answer.
pub(super) async fn ask(request: RequestBuilder) -> Result<Answer, NoAnswer> {
    // The address may hold a secret.
    let failed = |error: reqwest::Error| NoAnswer::Failed(error.without_url());
    let response = request.send().await.map_err(failed)?;
    let status = response.status();
    let body = body::read(response).await.map_err(|unread| match unread {
        Unread::Broken(error) => failed(error),
        Unread::TooLong => NoAnswer::TooLong,
    })?;
    Ok(Answer { status, body })
}

impl Answer {
    /// The body of a success.
    pub(super) fn success(self) -> Result<Vec<u8>, NoAnswer> {
        if self.status.is_success() { Ok(self.body) } else { Err(NoAnswer::Status(self.status)) }
    }
}

/// Reads a document of the form `T`.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, NoAnswer> {
    serde_json::from_slice(body).map_err(|_| NoAnswer::NotUnderstood)
}
