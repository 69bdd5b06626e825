//! The secret key of a gateway: readable in memory, sealed at rest.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::GatewayId;

/// What calls to a gateway are authenticated with.
#[derive(Clone, Debug)]
pub struct SecretKey(SecretString);

/// The text cannot be a secret key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret key has 8 to 255 visible ASCII characters")]
pub struct BadSecretKey;

impl SecretKey {
    /// Reads a key as a gateway's own console shows it.
    pub fn parse(text: &SecretString) -> Result<Self, BadSecretKey> {
        let text = text.expose_secret().trim();
        let fits = (8..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Err(BadSecretKey) }
    }

    /// The key, for the client that sends it.
    pub fn reveal(&self) -> &SecretString {
        &self.0
    }

    /// Encrypts it for the row of its gateway alone.
    pub fn seal(&self, key: &ApplicationKey, gateway: GatewayId) -> Vec<u8> {
        key.seal(&context(gateway), self.0.expose_secret().as_bytes())
    }

    pub(super) fn open(key: &ApplicationKey, gateway: GatewayId, sealed: &[u8]) -> Result<Self, CannotOpen> {
        let opened = key.open(&context(gateway), sealed)?;
        let text = std::str::from_utf8(opened.expose_secret()).map_err(|_| CannotOpen)?;
        Ok(Self(text.into()))
    }
}

fn context(gateway: GatewayId) -> String {
    format!("secret key of {gateway}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn a_secret_key_is_one_word_and_opens_in_its_own_row_only() {
        for bad in ["", "short", "two words here", "kurz\u{fc}berlang", &"x".repeat(256)] {
            assert!(SecretKey::parse(&bad.into()).is_err(), "{bad:?}");
        }
        let secret = SecretKey::parse(&" sk_test_12345\n".into()).unwrap();
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let (mine, other) = (GatewayId::new(DateTime::UNIX_EPOCH), GatewayId::new(DateTime::UNIX_EPOCH));
        let sealed = secret.seal(&key, mine);
        assert_eq!(SecretKey::open(&key, mine, &sealed).unwrap().reveal().expose_secret(), "sk_test_12345");
        assert!(SecretKey::open(&key, other, &sealed).is_err());
        assert!(!format!("{secret:?}").contains("sk_test"));
    }
}
