//! The secret of a company's message provider: plain text in memory, encrypted at rest for its own row and the address that it is sent to.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::kernel::crypto::{ApplicationKey, CannotOpen, Destination};
use crate::kernel::ids::MessageProviderId;
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo, is_mask};
use crate::storefront::message_providers::kind::{MessageChannel, ProviderKind};
use crate::storefront::message_providers::settings::ProviderSettings;

/// The column that holds them.
pub const SEALED: SealedColumn = SealedColumn {
    table: "message_providers",
    column: "secret",
    content: "secrets of message providers",
    context: Context::OfId(|id| context(id.into())),
    sent_to: SentTo::Named(&["channel", "kind", "settings"], destination),
};

const MAX_LEN: usize = 1_000;

/// A secret of a request, or one that was decrypted. No response shows it.
#[derive(Clone, Debug)]
pub struct ProviderSecret(SecretString);

/// The text is not such a secret. It may become part of a header, so it has no ends of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A secret must have 1 to {MAX_LEN} printable ASCII characters, not only asterisks.")]
pub struct InvalidProviderSecret;

impl ProviderSecret {
    fn parse(text: &SecretString) -> Result<Self, InvalidProviderSecret> {
        let text = text.expose_secret().trim();
        let fits = (1..=MAX_LEN).contains(&text.len()) && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if fits && !is_mask(text) { Ok(Self(text.into())) } else { Err(InvalidProviderSecret) }
    }

    /// Encrypts the secret for the row of this provider and the destination.
    pub fn seal(&self, key: &ApplicationKey, provider: MessageProviderId, destination: &Destination) -> Vec<u8> {
        key.seal(&destination.context(&context(provider)), self.0.expose_secret().as_bytes())
    }

    /// Decrypts a secret that was sealed for the row of this provider and the destination.
    pub(super) fn open(
        key: &ApplicationKey,
        provider: MessageProviderId,
        destination: &Destination,
        sealed: &[u8],
    ) -> Result<SecretString, CannotOpen> {
        let opened = key.open(&destination.context(&context(provider)), sealed)?;
        Ok(std::str::from_utf8(opened.expose_secret()).map_err(|_| CannotOpen)?.into())
    }
}

impl<'de> Deserialize<'de> for ProviderSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&SecretString::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

fn destination(row: &Map<String, Value>) -> Option<Destination> {
    let channel = MessageChannel::deserialize(row.get("channel")?).ok()?;
    let kind = ProviderKind::deserialize(row.get("kind")?).ok()?;
    Some(ProviderSettings::parse(channel, kind, row.get("settings")?.as_object()?).ok()?.destination())
}

fn context(provider: MessageProviderId) -> String {
    format!("secret of {provider}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn a_secret_decrypts_only_in_its_own_row_and_for_its_own_address() {
        for bad in ["", " ", "two\r\nlines", "********", "gehe\u{ed}m", &"x".repeat(1_001)] {
            assert!(ProviderSecret::parse(&bad.into()).is_err(), "{bad:?}");
        }
        let secret = ProviderSecret::parse(&" s3cret\n".into()).unwrap();
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let (mine, other) = (MessageProviderId::from(Uuid::from_u128(7)), MessageProviderId::from(Uuid::from_u128(8)));
        let of_row = |channel: &str, kind: &str, settings: Value| {
            let row = json!({ "channel": channel, "kind": kind, "settings": settings });
            destination(row.as_object().unwrap())
        };
        let by_server = |host: &str, security: &str| {
            of_row(
                "email",
                "smtp",
                json!({ "host": host, "port": 2525, "security": security, "user": "shop", "from": "Shop <a@shop.example>" }),
            )
        };
        let server = by_server("mail.example", "tls").unwrap();
        let sealed = secret.seal(&key, mine, &server);
        assert_eq!(ProviderSecret::open(&key, mine, &server, &sealed).unwrap().expose_secret(), "s3cret");
        assert!(ProviderSecret::open(&key, other, &server, &sealed).is_err());
        for elsewhere in [
            by_server("elsewhere.example", "tls"),
            by_server("mail.example", "starttls"),
            of_row("email", "webhook", json!({ "url": "https://mail.example:2525/" })),
            of_row("sms", "twilio", json!({ "account_sid": "AC7", "from": "Acme" })),
            of_row("sms", "vonage", json!({ "api_key": "AC7", "from": "Acme" })),
        ] {
            assert!(ProviderSecret::open(&key, mine, &elsewhere.unwrap(), &sealed).is_err());
        }
        assert_eq!(
            of_row("email", "twilio", json!({ "account_sid": "AC7", "from": "Acme" })),
            None,
            "settings that cannot be used lead nowhere"
        );
        assert!(!format!("{secret:?}").contains("s3cret"));
    }
}
