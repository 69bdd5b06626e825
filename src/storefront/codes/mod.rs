//! Verification codes: six digits, ten minutes, one use, five guesses (interface 1, States and transitions; decisions, section 4).
//!
//! [`issue`] replaces the older code of the same purpose and identity, unless that one is younger than a minute. [`check`] counts the
//! guess in a committed statement of its own, then compares; what it returns, a [`RightCode`], still has to be consumed in the
//! transaction of whatever the code was for, and only one caller can.

mod check;
mod issue;
mod queries;
mod rules;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::CustomerId;
use crate::kernel::secret_digest::SecretDigest;

pub(super) use check::check;
pub(super) use issue::{Method, Order, issue, straight_to};
pub(super) use queries::{forget_codes, forget_open_codes, sweep_codes};
pub(super) use rules::LIFETIME;

/// What a code is for; it works for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    CreateAccount,
    SignIn,
    VerifyPhone,
    VerifyEmail,
    CloseAccount,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::CreateAccount => "create_account",
            Self::SignIn => "sign_in",
            Self::VerifyPhone => "verify_phone",
            Self::VerifyEmail => "verify_email",
            Self::CloseAccount => "close_account",
        }
    }
}

/// Where a guess looks for its code.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// Among the codes of signed-out people, by the keys of identities (at least one).
    Identities(Vec<String>),
    /// At the last code this customer asked for while signed in.
    RequestedBy(CustomerId),
}

/// What a client sent as a code. Only six ASCII digits in a JSON string are ever compared; anything else is merely wrong.
#[derive(Debug, Deserialize)]
#[serde(from = "Value")]
pub(super) struct SubmittedCode(Option<SecretString>);

impl From<Value> for SubmittedCode {
    fn from(value: Value) -> Self {
        let digits = value.as_str().filter(|text| text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit()));
        Self(digits.map(Into::into))
    }
}

/// `#[serde(default, deserialize_with = "codes::submitted")]`: `null` was sent and is wrong; only an absent member is missing.
pub(super) fn submitted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SubmittedCode>, D::Error> {
    SubmittedCode::deserialize(deserializer).map(Some)
}

/// The body of the routes that take a code from a signed-in customer.
#[derive(Debug, Deserialize)]
pub(super) struct CodeRequest {
    #[serde(default, deserialize_with = "submitted")]
    pub(super) code: Option<SubmittedCode>,
}

/// What is stored instead of the digits.
fn digest(key: &ApplicationKey, id: Uuid, digits: &SecretString) -> SecretDigest {
    key.mac("verification codes", &[id.as_bytes().as_slice(), digits.expose_secret().as_bytes()].concat())
}
