//! Bytes in JSON, as WebAuthn writes them.

use base64::Engine;
// Reads padding, which WebAuthn does not have and some libraries add, and writes none.
use base64::engine::general_purpose::URL_SAFE_NO_PAD_INDIFFERENT as BASE64URL;
use serde::Deserialize;

/// Bytes that JSON has in base64url (RFC 4648, section 5), which WebAuthn writes without padding.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Base64Url(Vec<u8>);

impl Base64Url {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text of bytes.
    pub fn encode(bytes: impl AsRef<[u8]>) -> String {
        BASE64URL.encode(bytes)
    }
}

impl TryFrom<String> for Base64Url {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        BASE64URL.decode(text).map(Self).map_err(|_| "This must be base64url.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_padded_or_not_and_written_without() {
        let read = |text: &str| Base64Url::try_from(text.to_owned()).map(|bytes| bytes.0);
        for text in ["-_8", "-_8="] {
            assert_eq!(read(text), Ok(vec![0xfb, 0xff]), "{text}");
        }
        assert_eq!((read(""), Base64Url::encode([0xfb, 0xff])), (Ok(Vec::new()), "-_8".to_owned()));
        for text in ["+/8", "-_8==", "-", "not base64url!", "-_8=-"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
