//! The key that is shared with the socket server.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{SecretDigest, hmac_sha256};

/// The bytes of the setting, without decoding. Socket servers use them as their `authKey`.
#[derive(Clone, Debug)]
pub struct SocketKey(SecretString);

/// The setting is not a valid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSocketKey {
    /// The key is shorter than 32 bytes and could be guessed.
    #[error("socket.key needs at least 32 bytes (generate one with: openssl rand -base64 32)")]
    TooShort,
    /// The key begins or ends with whitespace. The socket server may or may not count it as part of the key.
    #[error("socket.key must not begin or end with a space")]
    Blank,
}

impl SocketKey {
    /// Parses the setting. Returns `None` if it is empty.
    pub fn parse(setting: &SecretString) -> Result<Option<Self>, InvalidSocketKey> {
        let text = setting.expose_secret();
        match text.len() {
            0 => Ok(None),
            _ if text.trim() != text => Err(InvalidSocketKey::Blank),
            1..32 => Err(InvalidSocketKey::TooShort),
            _ => Ok(Some(Self(setting.clone()))),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.expose_secret().as_bytes()
    }

    /// Signs an authorization request: HMAC-SHA256 over `timestamp.body`. A token cannot pass for such a signature, because the
    /// signed part of a token does not begin with digits and a dot.
    pub(super) fn sign(&self, timestamp: &str, body: &[u8]) -> SecretDigest {
        hmac_sha256(self.bytes(), &[timestamp.as_bytes(), b".", body])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_32_bytes_or_is_none() {
        let parse = |text: &str| SocketKey::parse(&text.into()).map(|key| key.is_some());
        assert_eq!(parse(""), Ok(false));
        assert_eq!(parse(&"x".repeat(31)), Err(InvalidSocketKey::TooShort));
        assert_eq!(parse(&"x".repeat(32)), Ok(true));
        assert_eq!(parse(&format!("{}\n", "x".repeat(40))), Err(InvalidSocketKey::Blank));
    }
}
