//! The HTTP client of the card provider: one request at a time, with retries where the provider's documentation recommends them.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use url::Url;

use crate::providers::RouteName;
use crate::providers::address::{below, is_secure};
use crate::providers::body::{self, ReadError};
use crate::providers::card::answer::Refusal;
use crate::providers::card::{ApiVersion, CardError, Settings, SettingsError};
use crate::providers::outgoing;

const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// The backoff before the first retry. The backoff before the n-th retry is n times as long.
const RETRY_DELAY: Duration = Duration::from_millis(250);
/// The maximum size of a list, in bytes: each of its entries may be as large as a callback usually is.
const LIST_LIMIT: usize = 8 * 1024 * 1024;
const NOT_UNDERSTOOD: &str = "invalid response";

/// Calls the card provider with the secret key that a caller passes. Follows no redirects.
#[derive(Clone, Debug)]
pub struct Card {
    client: Client,
    name: RouteName,
    base_url: Url,
    api_version: ApiVersion,
}

impl Card {
    /// Refuses a base URL that is neither `https` nor on this machine.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        if !is_secure(&settings.base_url) {
            return Err(SettingsError::BaseUrl);
        }
        let client = outgoing::client()
            .connect_timeout(CONNECT_LIMIT)
            .timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let Settings { name, base_url, api_version, timeout: _ } = settings.clone();
        Ok(Self { client, name, base_url, api_version })
    }

    /// The name of the provider in routes.
    pub fn name(&self) -> &RouteName {
        &self.name
    }

    /// The base URL of the API.
    pub fn address(&self) -> &Url {
        &self.base_url
    }

    /// Sends a form. Retries until the response is final.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        secret_key: &SecretString,
        path: &str,
        form: &[(&str, &str)],
        version: Option<&ApiVersion>,
        idempotency_key: &str,
    ) -> Result<T, CardError> {
        let url = below(&self.base_url, path);
        let request = self
            .client
            .post(url)
            .bearer_auth(secret_key.expose_secret())
            .header("stripe-version", version.unwrap_or(&self.api_version).as_str())
            .header("idempotency-key", idempotency_key)
            .form(form);
        ask(request, body::LIMIT).await
    }

    /// Reads a list. Retries until the response is final.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        secret_key: &SecretString,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<T, CardError> {
        let mut url = below(&self.base_url, path);
        url.query_pairs_mut().extend_pairs(query);
        let request = self.client.get(url).bearer_auth(secret_key.expose_secret()).header("stripe-version", self.api_version.as_str());
        ask(request, LIST_LIMIT).await
    }
}

/// Sends a request until the response is final, which may have `limit` bytes.
async fn ask<T: DeserializeOwned>(request: RequestBuilder, limit: usize) -> Result<T, CardError> {
    let mut tried = 1;
    loop {
        let again = request.try_clone().expect("the form body is in memory");
        let answer = outgoing::send(again, "ask the card provider").await.map_err(|error| failed(describe(&error)))?;
        if tried >= tries(answer.status()) {
            return read(answer, limit).await;
        }
        tokio::time::sleep(RETRY_DELAY * tried).await;
        tried += 1;
    }
}

/// The maximum number of attempts for a response with this status code. A request without a response is not retried: the caller
/// has waited long enough.
fn tries(status: StatusCode) -> u32 {
    match status.as_u16() {
        // A parallel request with the same idempotency key is in progress. Once it is done, the retry gets its response.
        409 => 5,
        429 | 500..=599 => 2,
        _ => 1,
    }
}

async fn read<T: DeserializeOwned>(answer: Response, limit: usize) -> Result<T, CardError> {
    let status = answer.status();
    let body = body::read_up_to(limit, answer).await;
    if status.is_success() {
        let body = body.map_err(|error| failed(describe_read_error(&error)))?;
        return serde_json::from_slice(&body).map_err(|_| failed(NOT_UNDERSTOOD));
    }
    let refusal = body.ok().and_then(|body| serde_json::from_slice::<Refusal>(&body).ok());
    Err(refusal.unwrap_or_default().judge(status.as_u16()))
}

fn failed(reason: impl Into<String>) -> CardError {
    CardError::Failed(reason.into())
}

fn describe_read_error(error: &ReadError) -> &'static str {
    match error {
        ReadError::Interrupted(error) => describe(error),
        ReadError::TooLong => NOT_UNDERSTOOD,
    }
}

/// The kind of the error only: its message may quote the response.
fn describe(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "timed out"
    } else if error.is_connect() {
        "connection failed"
    } else if error.is_decode() {
        NOT_UNDERSTOOD
    } else {
        "connection lost"
    }
}
