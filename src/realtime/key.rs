//! The key that is shared with the socket server.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::hmac_sha256;

/// The bytes of the setting, without decoding. Socket servers use them as their `authKey`. While the key is being replaced there are
/// several: one signs, all verify.
#[derive(Clone, Debug)]
pub struct SocketKey {
    current: SecretString,
    previous: Vec<SecretString>,
}

/// The setting is not a valid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSocketKey {
    /// The key is shorter than 32 bytes and could be guessed.
    #[error("socket.key and each of socket.previous_keys need at least 32 bytes (generate one with: openssl rand -base64 32)")]
    TooShort,
    /// The key begins or ends with whitespace. The socket server may or may not count it as part of the key.
    #[error("socket.key and socket.previous_keys must not begin or end with a space")]
    Blank,
}

impl SocketKey {
    /// Parses the settings. Returns `None` if there is no key.
    pub fn parse(setting: &SecretString, previous: &[SecretString]) -> Result<Option<Self>, InvalidSocketKey> {
        if setting.expose_secret().is_empty() {
            return Ok(None);
        }
        std::iter::once(setting).chain(previous).try_for_each(validate)?;
        Ok(Some(Self { current: setting.clone(), previous: previous.to_vec() }))
    }

    /// What tokens are signed with.
    pub(super) fn bytes(&self) -> &[u8] {
        self.current.expose_secret().as_bytes()
    }

    /// What tokens may have been signed with.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.current).chain(&self.previous).map(|key| key.expose_secret().as_bytes())
    }

    /// Whether this is the signature of an authorization request: HMAC-SHA256 over `timestamp.body`. A token cannot pass for one, because
    /// the signed part of a token does not begin with digits and a dot.
    pub(super) fn has_signed(&self, timestamp: &str, body: &[u8], signature: &[u8]) -> bool {
        self.all().any(|key| hmac_sha256(key, &[timestamp.as_bytes(), b".", body]).is(signature))
    }
}

fn validate(key: &SecretString) -> Result<(), InvalidSocketKey> {
    let text = key.expose_secret();
    match text.len() {
        _ if text.trim() != text => Err(InvalidSocketKey::Blank),
        0..32 => Err(InvalidSocketKey::TooShort),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_32_bytes_or_is_none() {
        let parse = |text: &str| SocketKey::parse(&text.into(), &[]).map(|key| key.is_some());
        assert_eq!(parse(""), Ok(false));
        assert_eq!(parse(&"x".repeat(31)), Err(InvalidSocketKey::TooShort));
        assert_eq!(parse(&"x".repeat(32)), Ok(true));
        assert_eq!(parse(&format!("{}\n", "x".repeat(40))), Err(InvalidSocketKey::Blank));
        let replacing = |text: &str| SocketKey::parse(&"x".repeat(32).into(), &[text.into()]).map(|key| key.is_some());
        assert_eq!(replacing(&"y".repeat(31)), Err(InvalidSocketKey::TooShort));
        assert_eq!(replacing(&"y".repeat(32)), Ok(true));
    }
}
