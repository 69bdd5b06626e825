//! Signing secrets: `whsec_` followed by the base64 of 32 bytes, encrypted at rest.

use std::str::FromStr;

use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::kernel::crypto::{ApplicationKey, CannotOpen, random_bytes, standard_key, standard_secret};
use crate::kernel::ids::{SubscriptionId, TypedId};
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo};

/// The columns that hold secrets.
pub(super) const SEALED: [SealedColumn; 2] =
    [column("sealed_secret", "signing secrets of webhooks"), column("sealed_previous_secret", "previous signing secrets of webhooks")];

const fn column(column: &'static str, content: &'static str) -> SealedColumn {
    let context = Context::OfId(SigningSecret::sealed_for::<SubscriptionId>);
    SealedColumn { table: "subscriptions", column, content, context, sent_to: SentTo::Nobody }
}

/// The secret that a subscriber verifies signatures with.
#[derive(Clone, Debug)]
pub struct SigningSecret(SecretString);

impl SigningSecret {
    /// Generates a secret of 256 random bits.
    pub fn generate() -> Self {
        Self(standard_secret(&random_bytes::<32>()).into())
    }

    #[cfg(test)]
    pub(crate) fn known(text: &str) -> Self {
        text.parse().unwrap()
    }

    /// The secret as the subscriber sees it: the key of `X-Service-Signature`.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    /// The decoded base64 bytes: the key of `webhook-signature`, as Standard Webhooks defines it.
    pub(crate) fn decoded(&self) -> Vec<u8> {
        standard_key(self.reveal()).expect("it was encoded by this program")
    }

    /// What the secret of the row with this id is sealed for.
    pub(crate) fn sealed_for<Id: TypedId>(id: Uuid) -> String {
        format!("signing secret of {}", Id::from(id))
    }

    /// Encrypts the secret for the row with this id.
    pub(crate) fn seal<Id: TypedId>(&self, key: &ApplicationKey, id: Id) -> Vec<u8> {
        key.seal(&Self::sealed_for::<Id>(id.into()), self.reveal().as_bytes())
    }

    /// Decrypts a secret that was sealed for the row with this id.
    pub(crate) fn open<Id: TypedId>(key: &ApplicationKey, id: Id, sealed: &[u8]) -> Result<Self, CannotOpen> {
        let secret = key.open(&Self::sealed_for::<Id>(id.into()), sealed)?;
        let secret = std::str::from_utf8(secret.expose_secret()).map_err(|_| CannotOpen)?;
        Ok(Self(secret.into()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a signing secret must be whsec_ followed by base64")]
pub struct InvalidSigningSecret;

impl FromStr for SigningSecret {
    type Err = InvalidSigningSecret;

    /// Parses a secret that was shown before.
    fn from_str(text: &str) -> Result<Self, InvalidSigningSecret> {
        match standard_key(text) {
            Some(key) if !key.is_empty() => Ok(Self(text.into())),
            _ => Err(InvalidSigningSecret),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_opens_for_its_own_subscription_alone() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [mine, other] = ["01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"]
            .map(|id| id.parse::<SubscriptionId>().unwrap());
        let secret = SigningSecret::generate();
        let sealed = secret.seal(&key, mine);
        assert_eq!(SigningSecret::open(&key, mine, &sealed).unwrap().reveal(), secret.reveal());
        assert!(SigningSecret::open(&key, other, &sealed).is_err());
        assert_eq!(secret.decoded().len(), 32);
        assert_eq!(format!("{secret:?}").find("whsec_"), None);
    }

    #[test]
    fn a_secret_that_was_shown_is_read_and_nothing_else() {
        let secret = SigningSecret::generate();
        assert_eq!(secret.reveal().parse::<SigningSecret>().unwrap().decoded(), secret.decoded());
        for text in ["", "whsec_", "whsec_?", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            assert_eq!(text.parse::<SigningSecret>().unwrap_err(), InvalidSigningSecret, "{text:?}");
        }
    }
}
