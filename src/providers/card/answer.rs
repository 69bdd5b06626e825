//! What the card provider answers, as far as we read it.

use secrecy::SecretString;
use serde::Deserialize;

use crate::providers::card::CardError;

/// The provider's id of a customer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct CardCustomerId(String);

/// The text cannot be an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id of the card provider has 1 to 255 visible ASCII characters")]
pub struct NotACardCustomerId;

impl CardCustomerId {
    /// As the provider writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CardCustomerId {
    type Error = NotACardCustomerId;

    fn try_from(text: String) -> Result<Self, NotACardCustomerId> {
        let fits = (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text)) } else { Err(NotACardCustomerId) }
    }
}

/// A customer that was created.
#[derive(Deserialize)]
pub(super) struct Customer {
    pub(super) id: CardCustomerId,
}

/// A key for an app, for about an hour.
#[derive(Debug, Deserialize)]
pub struct EphemeralKey {
    /// What the app's SDK takes.
    pub secret: SecretString,
}

/// The intent to save a card.
#[derive(Debug, Deserialize)]
pub struct SetupIntent {
    /// The provider's id of it.
    pub id: String,
    /// What the app's SDK takes.
    pub client_secret: SecretString,
}

/// A refusal in the provider's own form.
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
    /// What the refusal means to us. Type and code are words of the provider's documentation; the message is left alone.
    pub(super) fn judge(self, status: u16) -> CardError {
        let Reason { r#type, code, param } = self.error;
        match (r#type.as_deref(), code.as_deref(), param.as_deref()) {
            (_, Some("resource_missing"), Some("customer")) => CardError::CustomerUnknown,
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
    fn refusals_are_told_apart_and_their_words_forgotten() {
        let missing =
            r#"{"error":{"type":"invalid_request_error","code":"resource_missing","param":"customer","message":"No such customer"}}"#;
        assert_eq!(judge(404, missing), CardError::CustomerUnknown.to_string());
        assert_eq!(judge(400, r#"{"error":{"type":"idempotency_error"}}"#), CardError::KeyReused.to_string());
        let declined = judge(402, r#"{"error":{"type":"card_error","code":"card_declined","message":"Ada's card was declined"}}"#);
        assert!(declined.ends_with("status 402, card_error card_declined"), "{declined}");
        assert!(judge(502, "<html>").ends_with("status 502, no type no code"));
    }

    #[test]
    fn an_id_that_could_not_be_one_is_not_believed() {
        for text in ["", "cus 1", "cus_\u{0}", &"x".repeat(256)] {
            assert!(CardCustomerId::try_from(text.to_owned()).is_err());
        }
    }
}
