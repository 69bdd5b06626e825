//! The secret of a company's client at an identity provider: plain text in memory, encrypted at rest for its own row.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::IdentityProviderId;
use crate::kernel::sealed_values::{Context, SealedColumn};

/// The column that holds them.
pub const SEALED: SealedColumn = SealedColumn {
    table: "identity_providers",
    column: "client_secret",
    content: "client secrets of identity providers",
    context: Context::OfId(|id| context(id.into())),
};

/// The longest secret: some providers have tokens for one.
const MAX_LEN: usize = 2_000;

/// A secret of a request, or one that was decrypted. No response shows it.
#[derive(Clone, Debug)]
pub struct ClientSecret(SecretString);

/// The text is not such a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A client secret must have 1 to {MAX_LEN} visible ASCII characters.")]
pub struct InvalidClientSecret;

impl ClientSecret {
    fn parse(text: &SecretString) -> Result<Self, InvalidClientSecret> {
        let text = text.expose_secret().trim();
        let fits = (1..=MAX_LEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Err(InvalidClientSecret) }
    }

    /// Encrypts the secret for the row of this provider.
    pub fn seal(&self, key: &ApplicationKey, provider: IdentityProviderId) -> Vec<u8> {
        key.seal(&context(provider), self.0.expose_secret().as_bytes())
    }

    /// Decrypts a secret that was sealed for the row of this provider.
    pub(super) fn open(key: &ApplicationKey, provider: IdentityProviderId, sealed: &[u8]) -> Result<Self, CannotOpen> {
        let opened = key.open(&context(provider), sealed)?;
        Ok(Self(std::str::from_utf8(opened.expose_secret()).map_err(|_| CannotOpen)?.into()))
    }

    pub(super) fn into_text(self) -> SecretString {
        self.0
    }
}

impl<'de> Deserialize<'de> for ClientSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&SecretString::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

fn context(provider: IdentityProviderId) -> String {
    format!("client secret of {provider}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_secret_decrypts_only_in_its_own_row() {
        for bad in ["", " ", "two words", "gehe\u{ed}m", &"x".repeat(2_001)] {
            assert!(ClientSecret::parse(&bad.into()).is_err(), "{bad:?}");
        }
        let secret = ClientSecret::parse(&" s3cret\n".into()).unwrap();
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let (mine, other) = (IdentityProviderId::from(Uuid::from_u128(7)), IdentityProviderId::from(Uuid::from_u128(8)));
        let sealed = secret.seal(&key, mine);
        assert_eq!(ClientSecret::open(&key, mine, &sealed).unwrap().into_text().expose_secret(), "s3cret");
        assert!(ClientSecret::open(&key, other, &sealed).is_err());
        assert!(!format!("{secret:?}").contains("s3cret"));
    }
}
