//! Verification codes: six digits, ten minutes, one use, five guesses (interface 1, States and transitions; decisions, section 4).
//!
//! [`issue`] replaces the older code of the same purpose and identity, unless that one is younger than a minute. [`check`] counts the
//! guess in a committed statement of its own, then compares; what it returns, a [`RightCode`], still has to be consumed in the
//! transaction of whatever the code was for, and only one caller can.

mod check;
mod issue;
mod queries;
mod rules;

pub(super) use check::check;
pub(super) use issue::{Method, Order, issue};

/// What a code is for; it works for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    CreateAccount,
    SignIn,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::CreateAccount => "create_account",
            Self::SignIn => "sign_in",
        }
    }
}

/// What a client sent as a code. Only six ASCII digits in a JSON string are ever compared; anything else is merely wrong.
#[derive(Debug, serde::Deserialize)]
#[serde(from = "serde_json::Value")]
pub(super) struct SubmittedCode(Option<secrecy::SecretString>);

impl From<serde_json::Value> for SubmittedCode {
    fn from(value: serde_json::Value) -> Self {
        let digits = value.as_str().filter(|text| text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit()));
        Self(digits.map(Into::into))
    }
}

/// `#[serde(default, deserialize_with = "codes::submitted")]`: `null` was sent and is wrong; only an absent member is missing.
pub(super) fn submitted<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SubmittedCode>, D::Error> {
    serde::Deserialize::deserialize(deserializer).map(Some)
}

/// What is stored instead of the digits.
fn digest(key: &crate::kernel::crypto::ApplicationKey, id: uuid::Uuid, digits: &secrecy::SecretString) -> [u8; 32] {
    use secrecy::ExposeSecret;
    key.mac("verification codes", &[id.as_bytes().as_slice(), digits.expose_secret().as_bytes()].concat())
}
