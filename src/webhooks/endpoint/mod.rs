//! An endpoint as sending needs it: its timeout, its signing secrets and the headers of its requests.
//!
//! What a subscription stores about it is encrypted or not yet prepared. It is opened once per version of the subscription and
//! kept in the [`EndpointCache`].

mod attempt_timeout;
mod cache;
mod extra_headers;
mod headers;
mod queries;
mod rotation;
mod secret;
mod signature;

use axum::http::{HeaderMap, HeaderValue, header};
use chrono::{DateTime, Utc};

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::SubscriptionId;
use crate::kernel::sealed_values::SealedColumn;
use crate::webhooks::targets::EndpointUrl;

pub use attempt_timeout::{AttemptTimeout, LONGEST_ATTEMPT};
pub use cache::{EndpointCache, Endpoints};
pub use extra_headers::ExtraHeaders;
pub use headers::{AttemptHeaders, Headers, SIGNATURES, as_json};
pub use rotation::{RotatingSecrets, SealedSecrets};
pub use secret::SigningSecret;
pub use signature::{SignatureFormat, SigningSecrets};

/// The columns that hold what is opened here.
pub const SEALED: [SealedColumn; 3] = [secret::SEALED[0], secret::SEALED[1], extra_headers::SEALED];

/// Of every request that companies get.
pub const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("Portico-Webhooks/", env!("CARGO_PKG_VERSION")));

#[derive(Debug)]
pub struct StoredSubscription {
    pub subscription: SubscriptionId,
    pub version: i64,
    pub url: EndpointUrl,
    pub sealed_headers: Option<Vec<u8>>,
    pub signature_format: SignatureFormat,
    pub timeout: AttemptTimeout,
    pub sealed_secret: Vec<u8>,
    pub sealed_previous_secret: Option<Vec<u8>>,
    pub previous_secret_until: Option<DateTime<Utc>>,
}

/// Where the deliveries of a subscription are sent, and how.
#[derive(Debug)]
pub struct Endpoint {
    /// The version of the subscription this was read from.
    pub version: i64,
    pub url: EndpointUrl,
    pub timeout: AttemptTimeout,
    pub signature_format: SignatureFormat,
    /// The headers that are the same in every request.
    pub headers: Headers,
    secrets: Result<RotatingSecrets, CannotOpen>,
}

impl Endpoint {
    pub fn open(key: &ApplicationKey, stored: StoredSubscription) -> Self {
        let further = match &stored.sealed_headers {
            Some(sealed) => ExtraHeaders::open(key, stored.subscription, &stored.url, sealed),
            None => Ok(ExtraHeaders::default()),
        };
        let (headers, secrets) = match further {
            Ok(further) => (beginning(&further), RotatingSecrets::open(key, stored.subscription, stored.secrets())),
            Err(error) => (beginning(&ExtraHeaders::default()), Err(error)),
        };
        Self {
            secrets,
            version: stored.version,
            url: stored.url,
            timeout: stored.timeout,
            signature_format: stored.signature_format,
            headers,
        }
    }

    /// The secrets that sign at `at`.
    pub fn secrets(&self, at: DateTime<Utc>) -> Result<&SigningSecrets, CannotOpen> {
        match &self.secrets {
            Ok(secrets) => Ok(secrets.at(at)),
            Err(CannotOpen) => Err(CannotOpen),
        }
    }
}

/// The headers that are the same in every request: the `further` headers, whose values the log does not keep, and the service's
/// own.
pub fn beginning(further: &ExtraHeaders) -> Headers {
    Headers::beginning_with(with_own_headers(further), &with_own_headers(&further.masked()))
}

fn with_own_headers(further: &ExtraHeaders) -> HeaderMap {
    let mut headers: HeaderMap = further.iter().collect();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, USER_AGENT);
    headers
}

impl StoredSubscription {
    fn secrets(&self) -> SealedSecrets<'_> {
        let previous = self.sealed_previous_secret.as_deref().zip(self.previous_secret_until);
        SealedSecrets { current: &self.sealed_secret, previous }
    }
}
