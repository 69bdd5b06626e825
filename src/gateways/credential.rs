//! Gateway credentials: plain text in memory, encrypted at rest for their own row.

use std::marker::PhantomData;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use uuid::Uuid;

use crate::kernel::crypto::{ApplicationKey, CannotOpen, hmac_sha256};
use crate::kernel::ids::GatewayId;
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo, is_mask};

/// The columns that hold credentials.
pub const SEALED: [SealedColumn; 3] = [
    column("secret_key", "secret keys of gateways", |id| context::<Calling>(id.into()), SentTo::Configured),
    column("signing_secret", "signing secrets of gateways", |id| context::<Signing>(id.into()), SentTo::Nobody),
    column("previous_signing_secret", "previous signing secrets of gateways", |id| context::<Signing>(id.into()), SentTo::Nobody),
];

const fn column(column: &'static str, content: &'static str, context: fn(Uuid) -> String, sent_to: SentTo) -> SealedColumn {
    SealedColumn { table: "gateways", column, content, context: Context::OfId(context), sent_to }
}

/// A credential copied from the gateway's console. A value sealed as one kind of credential cannot be opened as another kind.
#[derive(Clone, Debug)]
pub struct Credential<K>(SecretString, PhantomData<K>);

/// The key that authenticates calls to a gateway.
pub type SecretKey = Credential<Calling>;
/// The secret that a gateway signs its callbacks with.
pub type GatewaySigningSecret = Credential<Signing>;

/// What a credential is for. Part of what it is sealed with, so that it cannot be opened for another purpose.
pub trait Purpose {
    /// The name of such a credential in error messages. Must not change: stored credentials are sealed with it.
    const NAME: &'static str;
}

/// Calls to the gateway.
#[derive(Clone, Copy, Debug)]
pub struct Calling;

/// Callbacks from the gateway.
#[derive(Clone, Copy, Debug)]
pub struct Signing;

impl Purpose for Calling {
    const NAME: &'static str = "secret key";
}

impl Purpose for Signing {
    const NAME: &'static str = "signing secret";
}

/// Contains the name of the credential, never its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A {0} must have 8 to 255 visible ASCII characters, not only asterisks.")]
pub struct InvalidCredential(&'static str);

impl<K: Purpose> Credential<K> {
    /// Parses the text, without leading and trailing whitespace.
    pub fn parse(text: &SecretString) -> Result<Self, InvalidCredential> {
        let text = text.expose_secret().trim();
        let fits = (8..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits && !is_mask(text) { Ok(Self(text.into(), PhantomData)) } else { Err(InvalidCredential(K::NAME)) }
    }

    /// The plain text, for the HTTP client.
    pub fn reveal(&self) -> &SecretString {
        &self.0
    }

    /// The bytes of the text, as the key of a signature.
    pub fn bytes(&self) -> &[u8] {
        self.0.expose_secret().as_bytes()
    }

    /// Whether both are the same, in a time that does not tell how similar they are.
    pub fn is(&self, other: &Self) -> bool {
        let digest = |credential: &Self| hmac_sha256(K::NAME.as_bytes(), &[credential.bytes()]);
        digest(self).is(digest(other))
    }

    /// Encrypts the credential for the row of this gateway.
    pub fn seal(&self, key: &ApplicationKey, gateway: GatewayId) -> Vec<u8> {
        key.seal(&context::<K>(gateway), self.bytes())
    }

    /// Decrypts a credential sealed for the row of this gateway.
    pub fn open(key: &ApplicationKey, gateway: GatewayId, sealed: &[u8]) -> Result<Self, CannotOpen> {
        let opened = key.open(&context::<K>(gateway), sealed)?;
        let text = std::str::from_utf8(opened.expose_secret()).map_err(|_| CannotOpen)?;
        Ok(Self(text.into(), PhantomData))
    }
}

impl<'de, K: Purpose> Deserialize<'de> for Credential<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&SecretString::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

fn context<K: Purpose>(gateway: GatewayId) -> String {
    format!("{} of {gateway}", K::NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_decrypts_only_as_its_own_kind_and_in_its_own_row() {
        for bad in ["", "short", "two words here", "********", "kurz\u{fc}berlang", &"x".repeat(256)] {
            assert!(SecretKey::parse(&bad.into()).is_err(), "{bad:?}");
        }
        assert_eq!(
            GatewaySigningSecret::parse(&"".into()).unwrap_err().to_string(),
            "A signing secret must have 8 to 255 visible ASCII characters, not only asterisks."
        );
        let secret = SecretKey::parse(&" sk_test_12345\n".into()).unwrap();
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let (mine, other) = (GatewayId::from(Uuid::from_u128(7)), GatewayId::from(Uuid::from_u128(8)));
        let sealed = secret.seal(&key, mine);
        assert_eq!(SecretKey::open(&key, mine, &sealed).unwrap().bytes(), b"sk_test_12345");
        assert!(SecretKey::open(&key, other, &sealed).is_err());
        assert!(GatewaySigningSecret::open(&key, mine, &sealed).is_err());
        assert!(!format!("{secret:?}").contains("sk_test"));
    }
}
