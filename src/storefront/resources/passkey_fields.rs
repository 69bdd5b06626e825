//! The fields of a store that say for whom it takes passkeys.

use idna::AsciiDenyList;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kernel::web_origin::WebOrigin;

/// The most pages and apps that a store names.
pub const MAX_ORIGINS: usize = 20;
/// The length of the hash in the name of an Android app: SHA-256 in base64url.
const APK_KEY_HASH_LEN: usize = 43;
/// The longest domain (RFC 1035, section 2.3.4).
const MAX_DOMAIN_LEN: usize = 253;

/// Reads a domain with at least two labels. Returns it in lower case and ASCII.
pub fn read_domain(text: &str) -> Option<String> {
    let domain = idna::domain_to_ascii_cow(text.trim().as_bytes(), AsciiDenyList::STD3).unwrap_or_default().into_owned();
    let is_label = |label: &str| (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-');
    let is_number = domain.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    let is_domain = domain.len() <= MAX_DOMAIN_LEN && domain.contains('.') && domain.split('.').all(is_label) && !is_number;
    is_domain.then_some(domain)
}

/// The domain that passkeys are made for.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct PasskeyDomain(String);

impl TryFrom<String> for PasskeyDomain {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        read_domain(&text).map(Self).ok_or("This must be a domain such as shop.example.")
    }
}

impl From<PasskeyDomain> for String {
    fn from(domain: PasskeyDomain) -> Self {
        domain.0
    }
}

/// The pages and apps that may use passkeys.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct PasskeyOrigins(Vec<PasskeyOrigin>);

impl From<PasskeyOrigins> for Vec<String> {
    fn from(origins: PasskeyOrigins) -> Self {
        origins.0.into_iter().map(|origin| origin.0).collect()
    }
}

/// A page or app, as it calls itself in client data: the origin of a page, or the hash of the certificate that an Android app is signed with.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct PasskeyOrigin(String);

impl TryFrom<String> for PasskeyOrigin {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_hash = |hash: &str| hash.len() == APK_KEY_HASH_LEN && hash.bytes().all(is_digit);
        let is_page = || text.starts_with("https://") && text.len() <= MAX_DOMAIN_LEN && text.parse::<WebOrigin>().is_ok();
        let is_origin = text.strip_prefix("android:apk-key-hash:").map_or_else(is_page, is_hash);
        is_origin.then_some(Self(text)).ok_or("This must be an origin such as https://shop.example or android:apk-key-hash:… .")
    }
}

fn origins() -> Value {
    json!({
        "type": "array",
        "items": { "type": "string", "pattern": "^(https://|android:apk-key-hash:).+$" },
        "maxItems": MAX_ORIGINS,
        "examples": [["https://shop.example"]],
    })
}

crate::field_type!(PasskeyDomain => String, json!({ "type": "string", "maxLength": MAX_DOMAIN_LEN, "examples": ["shop.example"] }));
crate::field_type!(PasskeyOrigins => Vec<String>, origins(), initially Vec::new());
