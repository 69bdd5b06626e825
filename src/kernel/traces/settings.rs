//! `[traces]`

use std::time::Duration;

use axum::http::HeaderMap;
use secrecy::SecretString;
use serde::de::{Deserialize, Deserializer, Error};
use url::Url;

use crate::kernel::settings;

/// `[traces]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where spans are posted to (OTLP over HTTP). `None`: nothing is recorded.
    #[serde(deserialize_with = "settings::optional")]
    pub endpoint: Option<Url>,
    /// Further headers of these requests, one `Name: value` per line. They may be credentials.
    pub headers: SecretString,
    /// Which part of all requests is recorded, from 0 to 1.
    #[serde(deserialize_with = "ratio")]
    pub ratio: f64,
    /// The name of the service in traces.
    pub service: String,
    /// The timeout of a request to the collector.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The settings of traces are invalid.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Only these schemes can be posted to.
    #[error("traces.endpoint must begin with http:// or https://")]
    Scheme,
    /// A line is not a header. Its text may be a secret.
    #[error("traces.headers is not \"Name: value\" in line {0}")]
    Header(usize),
    /// Usually the system has no root certificates.
    #[error("the client for traces cannot be built; are the system's root certificates (ca-certificates) installed?")]
    NoClient(#[source] reqwest::Error),
}

impl Settings {
    /// The further headers.
    pub(super) fn headers(&self) -> Result<HeaderMap, SettingsError> {
        settings::headers(&self.headers).map_err(SettingsError::Header)
    }
}

fn ratio<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match f64::deserialize(deserializer)? {
        ratio if (0.0..=1.0).contains(&ratio) => Ok(ratio),
        _ => Err(D::Error::custom("this must be a number from 0 to 1")),
    }
}
