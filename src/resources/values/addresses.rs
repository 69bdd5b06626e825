//! URLs of web pages and files.

use serde::Deserialize;
use serde_json::json;
use url::Url;

const MAX_LEN: usize = 2000;

/// An `https` or `http` URL of something stored elsewhere. The service never requests it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WebAddress(String);

/// The text is not such a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be a URL such as https://files.example.com/1.png, without a password in it.")]
pub struct InvalidWebAddress;

impl TryFrom<String> for WebAddress {
    type Error = InvalidWebAddress;

    fn try_from(typed: String) -> Result<Self, InvalidWebAddress> {
        let url = Url::parse(typed.trim()).map_err(|_| InvalidWebAddress)?;
        let good = matches!(url.scheme(), "https" | "http") && url.username().is_empty() && url.password().is_none();
        let text = String::from(url);
        (good && text.len() <= MAX_LEN).then_some(Self(text)).ok_or(InvalidWebAddress)
    }
}

impl From<WebAddress> for String {
    fn from(address: WebAddress) -> Self {
        address.0
    }
}

crate::field_type!(WebAddress => String, json!({ "type": "string", "format": "uri", "maxLength": MAX_LEN }), in events json!({ "type": "string", "format": "uri" }));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_can_be_opened_by_anybody_who_sees_it() {
        let address = |typed: &str| WebAddress::try_from(typed.to_owned()).map(String::from);
        assert_eq!(address(" https://Files.example.com/a b.png ").unwrap(), "https://files.example.com/a%20b.png");
        let long = format!("https://example.com/{}", "x".repeat(2000));
        for text in
            ["", "files.example.com", "ftp://example.com/a", "javascript:alert(1)", "https://ada:secret@example.com/", "https://", &long]
        {
            assert_eq!(address(text), Err(InvalidWebAddress), "{text:?}");
        }
    }
}
