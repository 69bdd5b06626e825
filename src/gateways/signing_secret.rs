//! What a gateway signs its callbacks with: readable in memory, sealed at rest for its own row.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::GatewayId;

/// The key of a gateway's signatures, as the gateway's own console shows it.
#[derive(Clone, Debug)]
pub struct SigningSecret(SecretString);

/// The text cannot be a signing secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A signing secret has 8 to 255 visible ASCII characters.")]
pub struct NotASigningSecret;

impl SigningSecret {
    /// The bytes signatures are keyed with: those of the text, as it stands.
    pub fn bytes(&self) -> &[u8] {
        self.0.expose_secret().as_bytes()
    }

    pub(super) fn seal(&self, key: &ApplicationKey, gateway: GatewayId) -> Vec<u8> {
        key.seal(&context(gateway), self.bytes())
    }

    pub(super) fn open(key: &ApplicationKey, gateway: GatewayId, sealed: &[u8]) -> Result<Self, CannotOpen> {
        let opened = key.open(&context(gateway), sealed)?;
        let text = std::str::from_utf8(opened.expose_secret()).map_err(|_| CannotOpen)?;
        Ok(Self(text.into()))
    }
}

impl TryFrom<SecretString> for SigningSecret {
    type Error = NotASigningSecret;

    fn try_from(typed: SecretString) -> Result<Self, NotASigningSecret> {
        let text = typed.expose_secret().trim();
        let fits = (8..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Err(NotASigningSecret) }
    }
}

impl<'de> Deserialize<'de> for SigningSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SecretString::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

fn context(gateway: GatewayId) -> String {
    format!("signing secret of {gateway}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_signing_secret_opens_in_its_own_row_only() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let secret = SigningSecret::try_from(SecretString::from(" whsec_12345678\n")).unwrap();
        let (mine, other) = (GatewayId::from(Uuid::from_u128(7)), GatewayId::from(Uuid::from_u128(8)));
        let sealed = secret.seal(&key, mine);
        assert_eq!(SigningSecret::open(&key, mine, &sealed).unwrap().bytes(), b"whsec_12345678");
        assert!(SigningSecret::open(&key, other, &sealed).is_err());
        assert!(!format!("{secret:?}").contains("whsec"));
        for bad in ["", "short", "two words", "grüße-grüße"] {
            assert!(SigningSecret::try_from(SecretString::from(bad)).is_err(), "{bad:?}");
        }
    }
}
