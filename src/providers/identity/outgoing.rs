//! Requests to a provider: limited in time and size, without redirects. Errors contain nothing of the request or the response.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;

use crate::providers::body::{self, ReadError};
use crate::providers::identity::SettingsError;
use crate::providers::outgoing;

/// Seconds after which a retry is recommended if the provider refuses the app: somebody has to mend that.
pub(super) const RETRY_AFTER_MENDING: u64 = 60;

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

/// There is no usable response.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The request could not be sent, or the connection broke.
    #[error("the request failed")]
    Failed(#[source] reqwest::Error),
    /// The response exceeds the size limit.
    #[error("the response is longer than {} bytes", body::LIMIT)]
    TooLong,
    /// The response is a refusal.
    #[error("the response has status {0}")]
    Status(StatusCode),
    /// The response is an error of the provider, with this code.
    #[error("the response is the provider's error {0}")]
    Error(i64),
    /// The provider does not accept the app.
    #[error("the id of the app or its secret is wrong")]
    Credentials,
    /// The response has an unexpected form. The parser's message is dropped, because it may quote a token.
    #[error("the response is invalid")]
    NotUnderstood,
}

pub(super) fn client(timeout: Duration) -> Result<Client, SettingsError> {
    let built = outgoing::client().timeout(timeout).redirect(Policy::none()).build();
    built.map_err(|error| SettingsError::new("providers", format!("cannot be asked: {error}")))
}

/// Sends the request and reads the whole response.
pub(super) async fn ask(request: RequestBuilder) -> Result<Answer, NoAnswer> {
    // The URL may contain a secret.
    let failed = |error: reqwest::Error| NoAnswer::Failed(error.without_url());
    let response = outgoing::send(request, "ask an identity provider").await.map_err(failed)?;
    let status = response.status();
    let body = body::read(response).await.map_err(|error| match error {
        ReadError::Interrupted(error) => failed(error),
        ReadError::TooLong => NoAnswer::TooLong,
    })?;
    Ok(Answer { status, body })
}

impl Answer {
    /// Returns the body of a success, or an error with the status code.
    pub(super) fn success(self) -> Result<Vec<u8>, NoAnswer> {
        if self.status.is_success() { Ok(self.body) } else { Err(NoAnswer::Status(self.status)) }
    }
}

/// Parses a JSON document.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, NoAnswer> {
    serde_json::from_slice(body).map_err(|_| NoAnswer::NotUnderstood)
}
