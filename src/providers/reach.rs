//! Whether anybody is there at the address of an outside service, for whoever looks for what is wrong.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use url::Url;

const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Nobody answers there.
#[derive(Debug, thiserror::Error)]
#[error("nobody answers at {origin}")]
pub struct NobodyThere {
    origin: String,
    source: reqwest::Error,
}

/// Asks for the first page at the address's host, without any credentials: whatever is answered, somebody is there.
pub async fn reach(address: &Url) -> Result<(), NobodyThere> {
    let origin = address.origin().ascii_serialization();
    // What stands behind the origin may be a secret.
    let nobody = |error: reqwest::Error| NobodyThere { origin: origin.clone(), source: error.without_url() };
    let client = Client::builder().timeout(TIME_LIMIT).redirect(Policy::none()).build().map_err(nobody)?;
    client.get(&origin).send().await.map_err(nobody)?;
    Ok(())
}
