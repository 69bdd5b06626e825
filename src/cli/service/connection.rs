//! The service that is asked, and the key that it is asked with.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use reqwest::{Client, Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use crate::cli::Failure;
use crate::cli::exit::Refusal;
use crate::cli::secret_input::read_file;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than the service takes before it gives a request up.
const TIMEOUT: Duration = Duration::from_secs(40);

/// The variable with the API key. It is no option, because the arguments of a process can be seen by others.
const API_KEY: &str = "PORTICO_API_KEY";

/// Where the service is, and where the key is.
#[derive(Args, Debug)]
#[command(next_help_heading = "Service")]
pub struct Connection {
    /// URL of the service
    #[arg(long, value_name = "URL", alias = "from", env = "PORTICO_URL", default_value = "http://127.0.0.1:8080")]
    service: Url,
    /// File with an API key, - for standard input; without it, the key is in PORTICO_API_KEY
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
}

impl Connection {
    /// The address of the service.
    pub fn base(&self) -> &Url {
        &self.service
    }

    /// The API key.
    pub fn api_key(&self) -> Result<SecretString, Failure> {
        match (&self.api_key_file, std::env::var_os(API_KEY)) {
            (Some(file), _) => read_file(file),
            (None, Some(key)) => Ok(key.into_string().map_err(|_| format!("{API_KEY} has no API key"))?.into()),
            (None, None) => Err(format!("there is no API key: set {API_KEY}, or name a file with --api-key-file").into()),
        }
    }

    pub(super) fn open(&self) -> Result<Service, Failure> {
        let client = Client::builder().no_proxy().connect_timeout(CONNECT_TIMEOUT).timeout(TIMEOUT).build()?;
        Ok(Service { base: self.service.clone(), key: self.api_key()?, client })
    }
}

/// A running service.
pub(super) struct Service {
    base: Url,
    key: SecretString,
    client: Client,
}

impl Service {
    /// A request for the path below the address of the service.
    pub(super) fn request(&self, method: Method, path: &str, query: &[(String, String)]) -> RequestBuilder {
        let mut address = self.base.clone();
        address.set_path(&format!("{}{path}", address.path().trim_end_matches('/')));
        if !query.is_empty() {
            address.query_pairs_mut().extend_pairs(query);
        }
        self.client.request(method, address).bearer_auth(self.key.expose_secret())
    }

    /// The answer to a request.
    pub(super) async fn answer(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let response = request.send().await?;
        let (status, text) = (response.status(), response.text().await?);
        let body = serde_json::from_str::<Value>(&text);
        match (status.is_success(), body) {
            (true, Ok(body)) => Ok(body),
            (true, Err(_)) => Err(format!("{} does not answer like Portico: is it the address of the service?", self.base).into()),
            (false, body) => Err(Refusal { status, problem: body.unwrap_or_default() }.into()),
        }
    }
}
