//! The responses of the card provider, as far as the client reads them.

use secrecy::SecretString;
use serde::Deserialize;

use crate::providers::card::{CardContact, CardError};

/// The provider's id of a customer: 1 to 255 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct CardCustomerId(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id of the card provider must have 1 to 255 visible ASCII characters")]
pub struct InvalidCardCustomerId;

impl CardCustomerId {
    /// The id in the provider's spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CardCustomerId {
    type Error = InvalidCardCustomerId;

    fn try_from(text: String) -> Result<Self, InvalidCardCustomerId> {
        let fits = (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text)) } else { Err(InvalidCardCustomerId) }
    }
}

/// The response to the creation of a customer.
#[derive(Deserialize)]
pub(super) struct Customer {
    pub(super) id: CardCustomerId,
}

/// A key for an app, valid for about one hour.
#[derive(Debug, Deserialize)]
pub struct EphemeralKey {
    /// The secret for the app's SDK.
    pub secret: SecretString,
}

/// An intent to save a card.
#[derive(Debug, Deserialize)]
pub struct SetupIntent {
    /// The provider's id of the intent.
    pub id: String,
    /// The secret for the app's SDK.
    pub client_secret: SecretString,
}

/// An error response of the provider.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Refusal {
    error: Reason,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reason {
    r#type: Option<String>,
    code: Option<String>,
    param: Option<String>,
}

impl Refusal {
    /// Maps an error response to a [`CardError`]. Type and code are defined in the provider's documentation. The message is
    /// ignored.
    pub(super) fn judge(self, status: u16) -> CardError {
        let Reason { r#type, code, param } = self.error;
        let is_about = |contact: &CardContact| {
            param.as_deref() == Some(contact.as_str()) || code.as_deref() == Some("email_invalid") && *contact == CardContact::Email
        };
        if status == 400
            && let Some(contact) = CardContact::ALL.into_iter().find(is_about)
        {
            return CardError::ContactRefused(contact);
        }
        match (r#type.as_deref(), code.as_deref(), param.as_deref()) {
            (_, Some("resource_missing"), Some("customer")) => CardError::CustomerUnknown,
            (_, Some("resource_missing"), Some("starting_after")) => CardError::PositionUnknown,
            (Some("idempotency_error"), _, _) if status == 400 => CardError::KeyReused,
            (kind, code, _) => CardError::Failed(format!("status {status}, {} {}", kind.unwrap_or("no type"), code.unwrap_or("no code"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(status: u16, body: &str) -> String {
        serde_json::from_str::<Refusal>(body).unwrap_or_default().judge(status).to_string()
    }

    #[test]
    fn refusals_have_kinds_and_their_texts_are_dropped() {
        let missing =
            r#"{"error":{"type":"invalid_request_error","code":"resource_missing","param":"customer","message":"No such customer"}}"#;
        assert_eq!(judge(404, missing), CardError::CustomerUnknown.to_string());
        assert_eq!(judge(400, r#"{"error":{"type":"idempotency_error"}}"#), CardError::KeyReused.to_string());
        let email = r#"{"error":{"type":"invalid_request_error","code":"email_invalid","param":"email","message":"Invalid email: ada@x"}}"#;
        assert_eq!(judge(400, email), CardError::ContactRefused(CardContact::Email).to_string());
        assert_eq!(judge(400, r#"{"error":{"code":"email_invalid"}}"#), CardError::ContactRefused(CardContact::Email).to_string());
        assert_eq!(judge(400, r#"{"error":{"param":"phone"}}"#), CardError::ContactRefused(CardContact::Phone).to_string());
        let declined = judge(402, r#"{"error":{"type":"card_error","code":"card_declined","message":"Ada's card was declined"}}"#);
        assert!(declined.ends_with("status 402, card_error card_declined"), "{declined}");
        assert!(judge(502, "<html>").ends_with("status 502, no type no code"));
    }

    #[test]
    fn an_implausible_id_is_refused() {
        for text in ["", "cus 1", "cus_\u{0}", &"x".repeat(256)] {
            assert!(CardCustomerId::try_from(text.to_owned()).is_err());
        }
    }
}
