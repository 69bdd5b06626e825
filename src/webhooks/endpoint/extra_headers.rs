//! Additional headers of a subscription's POSTs: any header the endpoint needs, except those that the service sets itself.
//!
//! The values are keys and passwords, so they are encrypted at rest and never shown. Responses contain [`MASK`] in their place; a
//! request that sends the mask back keeps the stored value, and is refused where there is none.
//!
//! They are sealed for the origin of the URL. A change of the URL to another origin has to bring them along.

use std::collections::BTreeMap;

use axum::http::{HeaderName, HeaderValue};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::kernel::crypto::{ApplicationKey, CannotOpen, Destination};
use crate::kernel::ids::SubscriptionId;
use crate::kernel::sealed_values::{Context, MASK, SealedColumn, SentTo, is_mask};
use crate::webhooks::targets::EndpointUrl;

/// The column that holds them.
pub(super) const SEALED: SealedColumn = SealedColumn {
    table: "subscriptions",
    column: "sealed_headers",
    content: "headers of webhooks",
    context: Context::OfId(|id| context(id.into())),
    sent_to: SentTo::Named(&["url"], destination),
};

/// Maximum number of headers of one subscription.
const MAX_HEADERS: usize = 20;
/// Maximum length of a value, in bytes.
const MAX_VALUE_LEN: usize = 1024;

/// Headers of the connection or the body, and headers that identify the service.
#[rustfmt::skip]
const OURS: [&str; 16] = [
    "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
];
const OUR_PREFIXES: [&str; 2] = ["x-service-", "webhook-"];

/// Header names in lower case, and their values.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub struct ExtraHeaders(BTreeMap<String, String>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidExtraHeader {
    /// The name contains characters that are not allowed in header names.
    #[error("{0:?} is not the name of a header.")]
    InvalidName(String),
    /// The header is set by the connection or by the service.
    #[error("The header {0} is set by the service itself.")]
    Ours(String),
    /// The value contains line ends, other control characters or non-ASCII characters, or is longer than 1024 bytes.
    #[error("The value of the header {0} must be at most 1024 printable ASCII characters.")]
    BadValue(String),
    /// The same name occurs twice, in different case.
    #[error("The header {0} occurs twice.")]
    Repeated(String),
    /// The value is a mask, and there is no value that it stands for.
    #[error("The header {0} has no stored value that ******** could keep. Send the value itself.")]
    NotStored(String),
    /// There are more than 20 headers.
    #[error("A webhook may have at most 20 additional headers.")]
    TooMany,
}

crate::field_type!(
    ExtraHeaders => Self, json!({ "type": "object", "additionalProperties": { "type": "string" } }), initially Self::default()
);

impl ExtraHeaders {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same headers with masked values.
    pub fn masked(&self) -> Self {
        Self(self.0.keys().map(|name| (name.clone(), MASK.to_owned())).collect())
    }

    /// Whether any value is the mask that stands for the stored value.
    pub fn has_masked_values(&self) -> bool {
        self.0.values().any(|value| value == MASK)
    }

    /// The same headers, with every masked value replaced by the value in `before`, which has to have one.
    pub fn with_unmasked_values(mut self, before: &Self) -> Result<Self, InvalidExtraHeader> {
        for (name, value) in self.0.iter_mut().filter(|(_, value)| *value == MASK) {
            let kept = before.0.get(name).ok_or_else(|| InvalidExtraHeader::NotStored(name.clone()))?;
            value.clone_from(kept);
        }
        Ok(self)
    }

    /// Encrypts the headers for the row of this subscription and the origin of its URL.
    pub fn seal(&self, key: &ApplicationKey, subscription: SubscriptionId, url: &EndpointUrl) -> Vec<u8> {
        let json = serde_json::to_vec(&self.0).expect("strings can always be serialized");
        key.seal(&url.destination().context(&context(subscription)), &json)
    }

    /// Decrypts headers that were sealed for the row of this subscription and the origin of this URL.
    pub fn open(key: &ApplicationKey, subscription: SubscriptionId, url: &EndpointUrl, sealed: &[u8]) -> Result<Self, CannotOpen> {
        let json = key.open(&url.destination().context(&context(subscription)), sealed)?;
        serde_json::from_slice(json.expose_secret()).map(Self).map_err(|_| CannotOpen)
    }

    pub fn iter(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.0.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
    }
}

fn context(subscription: SubscriptionId) -> String {
    format!("headers of {subscription}")
}

fn destination(row: &Map<String, Value>) -> Option<Destination> {
    Some(EndpointUrl::deserialize(row.get("url")?).ok()?.destination())
}

impl TryFrom<BTreeMap<String, String>> for ExtraHeaders {
    type Error = InvalidExtraHeader;

    fn try_from(headers: BTreeMap<String, String>) -> Result<Self, InvalidExtraHeader> {
        if headers.len() > MAX_HEADERS {
            return Err(InvalidExtraHeader::TooMany);
        }
        let mut extra = BTreeMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(&name).map_err(|_| InvalidExtraHeader::InvalidName(name))?.to_string();
            if OURS.contains(&name.as_str()) || OUR_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
                return Err(InvalidExtraHeader::Ours(name));
            }
            if value.len() > MAX_VALUE_LEN || !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
                return Err(InvalidExtraHeader::BadValue(name));
            }
            // However many asterisks somebody has copied, and blanks around them.
            let value = if is_mask(value.trim()) { MASK.to_owned() } else { value };
            if extra.insert(name.clone(), value).is_some() {
                return Err(InvalidExtraHeader::Repeated(name));
            }
        }
        Ok(Self(extra))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn parse(headers: &[(&str, &str)]) -> Result<ExtraHeaders, InvalidExtraHeader> {
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>().try_into()
    }

    #[test]
    fn headers_are_kept_in_lower_case() {
        let headers = parse(&[("Authorization", "Bearer abc"), ("X-Shop", "")]).unwrap();
        let kept: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        assert_eq!(kept, ["authorization: Bearer abc", "x-shop: "]);
    }

    #[test]
    fn sealed_headers_open_for_their_own_subscription_and_origin_alone_and_a_mask_keeps_what_was_there() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [mine, other] = [1, 2].map(|id| SubscriptionId::from(Uuid::from_u128(id)));
        let [url, other_path, elsewhere] = ["https://shop.example/a", "https://shop.example/b?c", "https://shop.example:8443/a"]
            .map(|url| url.parse::<EndpointUrl>().unwrap());
        let headers = parse(&[("authorization", "Bearer abc"), ("x-shop", "7")]).unwrap();
        let sealed = headers.seal(&key, mine, &url);
        assert_eq!(ExtraHeaders::open(&key, mine, &url, &sealed).unwrap(), headers);
        assert_eq!(ExtraHeaders::open(&key, mine, &other_path, &sealed).unwrap(), headers);
        assert!(ExtraHeaders::open(&key, mine, &elsewhere, &sealed).is_err());
        assert!(ExtraHeaders::open(&key, other, &url, &sealed).is_err());
        assert!(!String::from_utf8_lossy(&sealed).contains("abc"));
        assert_eq!(headers.masked(), parse(&[("authorization", MASK), ("x-shop", MASK)]).unwrap());
        let sent = parse(&[("authorization", MASK), ("x-shop", "8")]).unwrap();
        assert_eq!(parse(&[("authorization", " ***** "), ("x-shop", "8")]).unwrap(), sent);
        assert_eq!(sent.with_unmasked_values(&headers), parse(&[("authorization", "Bearer abc"), ("x-shop", "8")]));
        let unknown = parse(&[("authorization", MASK), ("x-new", MASK)]).unwrap();
        assert_eq!(unknown.with_unmasked_values(&headers), Err(InvalidExtraHeader::NotStored("x-new".to_owned())));
    }

    #[test]
    fn headers_that_would_change_what_we_say_are_refused() {
        for name in ["Host", "content-type", "Content-Length", "Transfer-Encoding", "Connection", "X-Service-Signature", "webhook-id"] {
            assert_eq!(parse(&[(name, "x")]), Err(InvalidExtraHeader::Ours(name.to_ascii_lowercase())));
        }
        for name in ["", "a b", "a:b", "a\r\nb", "ä"] {
            assert_eq!(parse(&[(name, "x")]), Err(InvalidExtraHeader::InvalidName(name.to_owned())));
        }
        let long = "x".repeat(1025);
        for value in ["a\r\nX-Other: b", "a\nb", "a\tb", "a\u{7f}", "ä", &long] {
            assert_eq!(parse(&[("x-shop", value)]), Err(InvalidExtraHeader::BadValue("x-shop".to_owned())), "{value:?}");
        }
        assert_eq!(parse(&[("X-Shop", "a"), ("x-shop", "b")]), Err(InvalidExtraHeader::Repeated("x-shop".to_owned())));
        let many: Vec<String> = (0..21).map(|number| format!("x-{number}")).collect();
        let many: Vec<_> = many.iter().map(|name| (name.as_str(), "x")).collect();
        assert_eq!(parse(&many), Err(InvalidExtraHeader::TooMany));
        assert!(parse(&many[..20]).is_ok());
    }
}
