//! Endpoint URLs: HTTPS, port 443 or above 1023, no credentials, no fragment.

use std::fmt;
use std::str::FromStr;

use axum::http::Uri;
use axum::http::uri::InvalidUri;
use serde_json::json;
use url::{Host, Url};

use crate::kernel::crypto::Destination;
use crate::resources::{FilterForm, Operand};

/// Maximum length of a URL, in bytes.
const MAX_LEN: usize = 2048;

/// The URL that the events of a subscription are posted to. `Targets` decides whether its addresses may be connected to.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct EndpointUrl(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpointUrl {
    /// It cannot be parsed, or contains spaces or control characters.
    #[error("This is not a URL.")]
    Malformed,
    /// It is longer than 2048 bytes.
    #[error("This may have at most 2048 bytes.")]
    TooLong,
    #[error("This must be an https URL.")]
    NotHttps,
    /// The port is reserved for other services of a host: below 1024 and not 443.
    #[error("The port must be 443 or above 1023.")]
    PortForbidden,
    /// It contains a user name or password, which logs on the way would show.
    #[error("This must not contain a user name or password; use a header.")]
    HoldsCredentials,
    /// It contains a fragment, which is never sent.
    #[error("This must not have a #fragment.")]
    HasFragment,
}

crate::field_type!(
    EndpointUrl => Self,
    json!({ "type": "string", "format": "uri", "pattern": "^https://" }),
    in events json!({ "type": "string", "format": "uri" }),
    filtered by FilterForm::understood("an https URL", |text| Some(Operand::Text(text.parse::<EndpointUrl>().ok()?.0)))
);

impl EndpointUrl {
    /// The normalised URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&self.0).expect("the URL was validated at construction")
    }

    /// The form that the HTTP client takes. It knows fewer characters than the URL standard.
    pub(crate) fn uri(&self) -> Result<Uri, InvalidUri> {
        self.0.parse()
    }

    /// Where a secret goes that is sent there.
    pub(crate) fn destination(&self) -> Destination {
        Destination::origin(&self.url())
    }

    pub(crate) fn host(&self) -> Host<String> {
        self.url().host().expect("an https URL has a host").to_owned()
    }
}

impl FromStr for EndpointUrl {
    type Err = InvalidEndpointUrl;

    fn from_str(text: &str) -> Result<Self, InvalidEndpointUrl> {
        if text.len() > MAX_LEN {
            return Err(InvalidEndpointUrl::TooLong);
        }
        // The parser silently drops tabs and line ends, so the result would be another URL than the one that was sent.
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(InvalidEndpointUrl::Malformed);
        }
        let url = Url::parse(text).map_err(|_| InvalidEndpointUrl::Malformed)?;
        if url.scheme() != "https" {
            return Err(InvalidEndpointUrl::NotHttps);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidEndpointUrl::HoldsCredentials);
        }
        if url.fragment().is_some() {
            return Err(InvalidEndpointUrl::HasFragment);
        }
        match url.port_or_known_default() {
            Some(443 | 1024..) if url.as_str().len() <= MAX_LEN => Ok(Self(url.into())),
            Some(443 | 1024..) => Err(InvalidEndpointUrl::TooLong),
            _ => Err(InvalidEndpointUrl::PortForbidden),
        }
    }
}

impl TryFrom<String> for EndpointUrl {
    type Error = InvalidEndpointUrl;

    fn try_from(text: String) -> Result<Self, InvalidEndpointUrl> {
        text.parse()
    }
}

impl fmt::Display for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_url_is_https_at_an_ordinary_port() {
        for (text, kept) in [
            ("https://shop.example/hooks?shop=1", "https://shop.example/hooks?shop=1"),
            ("HTTPS://Shop.Example:443", "https://shop.example/"),
            ("https://shop.example:1024/", "https://shop.example:1024/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://[2606:4700::1]:8443/", "https://[2606:4700::1]:8443/"),
            // unusual notations of an IPv4 address are normalised, so the address check sees them
            ("https://0x7f.1/", "https://127.0.0.1/"),
            ("https://2130706433/", "https://127.0.0.1/"),
        ] {
            assert_eq!(text.parse::<EndpointUrl>().unwrap().as_str(), kept);
        }
    }

    #[test]
    fn any_other_url_is_refused_with_the_reason() {
        use InvalidEndpointUrl::*;
        for (text, reason) in [
            ("", Malformed),
            ("shop.example/hooks", Malformed),
            ("https://", Malformed),
            ("https://shop.example/a b", Malformed),
            ("https://shop.exa\tmple/", Malformed),
            ("https://shop.example/\r\nX: y", Malformed),
            (" https://shop.example/", Malformed),
            ("http://shop.example/", NotHttps),
            ("ftp://shop.example/", NotHttps),
            ("file:///etc/passwd", NotHttps),
            ("https://shop.example:80/", PortForbidden),
            ("https://shop.example:22/", PortForbidden),
            ("https://shop.example:1023/", PortForbidden),
            ("https://shop.example:0/", PortForbidden),
            ("https://ada@shop.example/", HoldsCredentials),
            ("https://ada:secret@shop.example/", HoldsCredentials),
            ("https://:secret@shop.example/", HoldsCredentials),
            ("https://shop.example/#part", HasFragment),
            ("https://shop.example/#", HasFragment),
            (&format!("https://shop.example/{}", "a".repeat(2048)), TooLong),
            (&format!("https://shop.example/{}", "ä".repeat(1000)), TooLong),
        ] {
            assert_eq!(text.parse::<EndpointUrl>(), Err(reason), "{text:?}");
        }
    }
}
