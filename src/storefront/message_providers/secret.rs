//! The secret of a company's message provider: plain text in memory, encrypted at rest for its own row.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::MessageProviderId;
use crate::kernel::sealed_values::{Context, SealedColumn};

/// The column that holds them.
pub const SEALED: SealedColumn = SealedColumn {
    table: "message_providers",
    column: "secret",
    content: "secrets of message providers",
    context: Context::OfId(|id| context(id.into())),
};

const MAX_LEN: usize = 1_000;

/// A secret of a request, or one that was decrypted. No response shows it.
#[derive(Clone, Debug)]
pub struct ProviderSecret(SecretString);

/// The text is not such a secret. It may become part of a header, so it has no ends of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A secret must have 1 to {MAX_LEN} printable ASCII characters.")]
pub struct InvalidProviderSecret;

impl ProviderSecret {
    fn parse(text: &SecretString) -> Result<Self, InvalidProviderSecret> {
        let text = text.expose_secret().trim();
        let fits = (1..=MAX_LEN).contains(&text.len()) && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Err(InvalidProviderSecret) }
    }

    /// Encrypts the secret for the row of this provider.
    pub fn seal(&self, key: &ApplicationKey, provider: MessageProviderId) -> Vec<u8> {
        key.seal(&context(provider), self.0.expose_secret().as_bytes())
    }

    /// Decrypts a secret that was sealed for the row of this provider.
    pub(super) fn open(key: &ApplicationKey, provider: MessageProviderId, sealed: &[u8]) -> Result<SecretString, CannotOpen> {
        let opened = key.open(&context(provider), sealed)?;
        Ok(std::str::from_utf8(opened.expose_secret()).map_err(|_| CannotOpen)?.into())
    }
}

impl<'de> Deserialize<'de> for ProviderSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&SecretString::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

fn context(provider: MessageProviderId) -> String {
    format!("secret of {provider}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_secret_decrypts_only_in_its_own_row() {
        for bad in ["", " ", "two\r\nlines", "gehe\u{ed}m", &"x".repeat(1_001)] {
            assert!(ProviderSecret::parse(&bad.into()).is_err(), "{bad:?}");
        }
        let secret = ProviderSecret::parse(&" s3cret\n".into()).unwrap();
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let (mine, other) = (MessageProviderId::from(Uuid::from_u128(7)), MessageProviderId::from(Uuid::from_u128(8)));
        let sealed = secret.seal(&key, mine);
        assert_eq!(ProviderSecret::open(&key, mine, &sealed).unwrap().expose_secret(), "s3cret");
        assert!(ProviderSecret::open(&key, other, &sealed).is_err());
        assert!(!format!("{secret:?}").contains("s3cret"));
    }
}
