//! The secret of a company's client at an identity provider: plain text in memory, encrypted at rest for its own row and the addresses that it is
//! sent to.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::kernel::crypto::{ApplicationKey, CannotOpen, Destination};
use crate::kernel::ids::IdentityProviderId;
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo, is_mask};
use crate::webhooks::EndpointUrl;

/// The column that holds them.
pub const SEALED: SealedColumn = SealedColumn {
    table: "identity_providers",
    column: "client_secret",
    content: "client secrets of identity providers",
    context: Context::OfId(|id| context(id.into())),
    sent_to: SentTo::Named(&["token_url", "graph_url"], destination_in),
};

/// The longest secret: some providers have tokens for one.
const MAX_LEN: usize = 2_000;

/// A secret of a request, or one that was decrypted. No response shows it.
#[derive(Clone, Debug)]
pub struct ClientSecret(SecretString);

/// The text is not such a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A client secret must have 1 to {MAX_LEN} visible ASCII characters, not only asterisks.")]
pub struct InvalidClientSecret;

impl ClientSecret {
    fn parse(text: &SecretString) -> Result<Self, InvalidClientSecret> {
        let text = text.expose_secret().trim();
        let fits = (1..=MAX_LEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits && !is_mask(text) { Ok(Self(text.into())) } else { Err(InvalidClientSecret) }
    }

    /// Encrypts the secret for the row of this provider and the destination.
    pub fn seal(&self, key: &ApplicationKey, provider: IdentityProviderId, destination: &Destination) -> Vec<u8> {
        key.seal(&destination.context(&context(provider)), self.0.expose_secret().as_bytes())
    }

    /// Decrypts a secret that was sealed for the row of this provider and the destination.
    pub(super) fn open(
        key: &ApplicationKey,
        provider: IdentityProviderId,
        destination: &Destination,
        sealed: &[u8],
    ) -> Result<Self, CannotOpen> {
        let opened = key.open(&destination.context(&context(provider)), sealed)?;
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

/// Where the secret is sent: to the addresses that the provider names, or to those that the settings have for it.
pub(super) fn destination(token_url: Option<&EndpointUrl>, graph_url: Option<&EndpointUrl>) -> Destination {
    let named = [token_url, graph_url].into_iter().flatten().map(EndpointUrl::destination).reduce(Destination::and);
    named.unwrap_or_else(|| Destination::configured("identity provider"))
}

fn destination_in(row: &Map<String, Value>) -> Option<Destination> {
    let url = |column: &str| Option::<EndpointUrl>::deserialize(row.get(column)?).ok();
    Some(destination(url("token_url")?.as_ref(), url("graph_url")?.as_ref()))
}

fn context(provider: IdentityProviderId) -> String {
    format!("client secret of {provider}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_secret_decrypts_only_in_its_own_row_and_for_its_own_addresses() {
        for bad in ["", " ", "two words", "gehe\u{ed}m", "********", &"x".repeat(2_001)] {
            assert!(ClientSecret::parse(&bad.into()).is_err(), "{bad:?}");
        }
        let secret = ClientSecret::parse(&" s3cret\n".into()).unwrap();
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let (mine, other) = (IdentityProviderId::from(Uuid::from_u128(7)), IdentityProviderId::from(Uuid::from_u128(8)));
        let [own, elsewhere] = ["https://id.example/token", "https://elsewhere.example/"].map(|url| url.parse::<EndpointUrl>().unwrap());
        let sent_to = destination(Some(&own), None);
        let sealed = secret.seal(&key, mine, &sent_to);
        assert_eq!(ClientSecret::open(&key, mine, &sent_to, &sealed).unwrap().into_text().expose_secret(), "s3cret");
        assert!(ClientSecret::open(&key, other, &sent_to, &sealed).is_err());
        for moved in [(None, None), (Some(&elsewhere), None), (None, Some(&elsewhere)), (Some(&own), Some(&elsewhere))] {
            assert!(ClientSecret::open(&key, mine, &destination(moved.0, moved.1), &sealed).is_err(), "{moved:?}");
        }
        assert!(!format!("{secret:?}").contains("s3cret"));
    }
}
