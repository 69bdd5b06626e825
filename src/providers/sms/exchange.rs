//! One request to a provider, with its outcomes: a response, a timeout, or no connection.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};

use crate::providers::outgoing;
use crate::providers::sms::SettingsError;
use crate::providers::sms::failure::{SendTextError, SendTextErrorKind};

/// The maximum time to connect. After it, the next provider is tried.
const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(3);
/// The maximum number of bytes that are read of a response. Responses of providers have a few hundred bytes.
const MAX_ANSWER_LEN: usize = 64 * 1024;

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

/// The outcome of a text that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Receipt {
    /// The provider confirmed that it accepted the text, and said what it calls it.
    Taken(Option<String>),
    /// The provider did not respond in time and may have accepted the text. A second text would be worse than none.
    Silence,
}

pub(super) fn client(timeout: Duration, setting: &'static str) -> Result<Client, SettingsError> {
    // Redirects are not followed, because they would send the customer's number and the credentials to another host.
    let builder = outgoing::client().timeout(timeout).connect_timeout(CONNECT_TIME_LIMIT.min(timeout / 2)).redirect(Policy::none());
    builder.build().map_err(|error| SettingsError { setting, reason: format!("cannot be used: {error}") })
}

/// Sends a text and judges the response.
pub(super) async fn hand_over(
    request: RequestBuilder,
    judge: impl FnOnce(&Answer) -> Result<Option<String>, SendTextError>,
) -> Result<Receipt, SendTextError> {
    match ask(request).await? {
        Some(answer) => judge(&answer).map(Receipt::Taken),
        None => Ok(Receipt::Silence),
    }
}

/// Returns the response, or `None` if the provider timed out after it may have accepted the text.
async fn ask(request: RequestBuilder) -> Result<Option<Answer>, SendTextError> {
    let mut response = match outgoing::send(request, "send a text").await {
        Ok(response) => response,
        Err(error) if error.is_timeout() && !error.is_connect() => return Ok(None),
        Err(error) => {
            let detail = if error.is_connect() { "connection failed" } else { "invalid response" };
            return Err(SendTextError::new(SendTextErrorKind::Outage, detail));
        }
    };
    let (status, mut body) = (response.status(), Vec::new());
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= MAX_ANSWER_LEN => body.extend_from_slice(&chunk),
            Ok(_) => break,
            Err(error) if error.is_timeout() && status.is_success() => return Ok(None),
            // The incomplete body is judged, because the status code may suffice.
            Err(_) => break,
        }
    }
    Ok(Some(Answer { status, body }))
}
