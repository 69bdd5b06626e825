//! Signing secrets: `whsec_` and base64 of 32 bytes, encrypted at rest.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::SubscriptionId;
use crate::kernel::secrets::random_bytes;

const PREFIX: &str = "whsec_";

/// What a subscriber verifies our signatures with.
#[derive(Clone, Debug)]
pub struct SigningSecret(SecretString);

impl SigningSecret {
    /// A new secret of 256 random bits.
    pub fn generate() -> Self {
        Self(format!("{PREFIX}{}", STANDARD.encode(random_bytes::<32>())).into())
    }

    #[cfg(test)]
    pub(in crate::webhooks) fn known(text: &str) -> Self {
        Self(text.into())
    }

    /// The secret as the subscriber sees it: the key of `X-Service-Signature`.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    /// The bytes the base64 stands for: the key of `webhook-signature`, as Standard Webhooks has it.
    pub(in crate::webhooks) fn decoded(&self) -> Vec<u8> {
        let encoded = self.reveal().strip_prefix(PREFIX).expect("every secret begins with whsec_");
        STANDARD.decode(encoded).expect("we encoded it ourselves")
    }

    pub(in crate::webhooks) fn seal(&self, key: &ApplicationKey, subscription: SubscriptionId) -> Vec<u8> {
        key.seal(&context(subscription), self.reveal().as_bytes())
    }

    pub(in crate::webhooks) fn open(key: &ApplicationKey, subscription: SubscriptionId, sealed: &[u8]) -> Result<Self, CannotOpen> {
        let secret = key.open(&context(subscription), sealed)?;
        let secret = std::str::from_utf8(secret.expose_secret()).map_err(|_| CannotOpen)?;
        Ok(Self(secret.into()))
    }
}

fn context(subscription: SubscriptionId) -> String {
    format!("signing secret of {subscription}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_opens_for_its_own_subscription_alone() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [mine, other] = ["01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"].map(|id| id.parse().unwrap());
        let secret = SigningSecret::generate();
        let sealed = secret.seal(&key, mine);
        assert_eq!(SigningSecret::open(&key, mine, &sealed).unwrap().reveal(), secret.reveal());
        assert!(SigningSecret::open(&key, other, &sealed).is_err());
        assert_eq!(secret.decoded().len(), 32);
        assert_eq!(format!("{secret:?}").find("whsec_"), None);
    }
}
