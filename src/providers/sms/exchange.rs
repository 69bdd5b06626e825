//! One request to a provider: it is answered, meets silence, or nobody is there.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};

use crate::providers::sms::BadSettings;
use crate::providers::sms::failure::{SendTextError, SendTextErrorKind};

/// A provider that cannot be reached by then is not there, and the next one is asked.
const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(3);
/// What is read of an answer; those of providers are a few hundred bytes long.
const LONGEST_ANSWER: usize = 64 * 1024;

/// What a provider answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

/// What became of a text that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receipt {
    /// The provider said that it took it.
    Taken,
    /// The provider fell silent and may have taken it before: a second text would be worse than none.
    Silence,
}

/// A client whose answers are waited for that long.
pub(super) fn client(timeout: Duration, setting: &'static str) -> Result<Client, BadSettings> {
    // Redirects are not followed: they would carry a customer's number, and our credentials, to somebody else.
    let builder = Client::builder().timeout(timeout).connect_timeout(CONNECT_TIME_LIMIT.min(timeout / 2)).redirect(Policy::none());
    builder.build().map_err(|error| BadSettings { setting, reason: error.to_string() })
}

/// Sends a text and has its answer judged.
pub(super) async fn hand_over(
    request: RequestBuilder,
    judge: impl FnOnce(&Answer) -> Result<(), SendTextError>,
) -> Result<Receipt, SendTextError> {
    match ask(request).await? {
        Some(answer) => judge(&answer).map(|()| Receipt::Taken),
        None => Ok(Receipt::Silence),
    }
}

/// The answer; `None` when the provider fell silent after it may have taken the text.
async fn ask(request: RequestBuilder) -> Result<Option<Answer>, SendTextError> {
    let mut response = match request.send().await {
        Ok(response) => response,
        Err(error) if error.is_timeout() && !error.is_connect() => return Ok(None),
        Err(error) => {
            let detail = if error.is_connect() { "no connection" } else { "a broken answer" };
            return Err(SendTextError::new(SendTextErrorKind::Outage, detail));
        }
    };
    let (status, mut body) = (response.status(), Vec::new());
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= LONGEST_ANSWER => body.extend_from_slice(&chunk),
            Ok(_) => break,
            Err(error) if error.is_timeout() && status.is_success() => return Ok(None),
            // What has come is judged: the status alone may say enough.
            Err(_) => break,
        }
    }
    Ok(Some(Answer { status, body }))
}
