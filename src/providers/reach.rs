//! A connectivity check of external services, for diagnosis.

use std::time::Duration;

use reqwest::redirect::Policy;
use url::Url;

use crate::providers::outgoing;

const TIME_LIMIT: Duration = Duration::from_secs(5);

/// The service did not respond.
#[derive(Debug, thiserror::Error)]
#[error("no response from {origin}")]
pub struct NoResponse {
    origin: String,
    source: reqwest::Error,
}

/// Sends a `GET` request to the root of the URL's origin, without credentials. Every response is a success, regardless of its
/// status code.
pub async fn reach(address: &Url) -> Result<(), NoResponse> {
    let origin = address.origin().ascii_serialization();
    // The path and the query of the URL may contain secrets.
    let failed = |error: reqwest::Error| NoResponse { origin: origin.clone(), source: error.without_url() };
    let client = outgoing::client().timeout(TIME_LIMIT).redirect(Policy::none()).build().map_err(failed)?;
    client.get(&origin).send().await.map_err(failed)?;
    Ok(())
}
