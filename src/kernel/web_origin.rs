//! Origins of web pages, as settings name them.

use axum::http::HeaderValue;
use url::Url;

/// The origin of a web page: only scheme, host and port. `*` is not allowed: who may do something here is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin(pub HeaderValue);

impl std::fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.to_str().unwrap_or_default())
    }
}

impl std::str::FromStr for WebOrigin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        match url.map(|url| url.origin().ascii_serialization()) {
            Some(origin) if origin == text => HeaderValue::from_str(text).map(Self).map_err(|_| "is not an origin"),
            _ => Err("is not an origin such as https://shop.example"),
        }
    }
}
