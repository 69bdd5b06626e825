//! Verification codes: six digits, valid for ten minutes, for one use and five guesses (interface 1, States and transitions;
//! `docs/specification/decisions.md`, section 4).
//!
//! [`issue`] replaces the previous code of the same purpose and identity, unless that code is younger than one minute. [`check`]
//! counts the guess in a committed statement of its own and compares afterwards. It returns a
//! [`VerifiedCode`](check::VerifiedCode), which the flow must consume in its own transaction. Only one caller can consume a code.

mod check;
mod issue;
mod queries;
mod rules;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::crypto::{ApplicationKey, SecretDigest};
use crate::kernel::ids::CustomerId;
use crate::storefront::routes::body;

pub(super) use check::{CODE_REFUSALS, check};
pub(super) use issue::{IssueRequest, MAIL_REFUSALS, Method, TEXT_REFUSALS, channels_for, issue};
pub(super) use queries::{forget_codes, forget_open_codes, sweep_codes};
pub(super) use rules::LIFETIME;

/// The purpose of a code. A code is accepted for its own purpose only.
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

    /// Whether the code is sent to an identity that the caller entered freely, rather than to one that belongs to an account.
    fn is_for_whatever_is_named(self) -> bool {
        matches!(self, Self::CreateAccount | Self::VerifyEmail)
    }
}

/// Which code a guess is compared with.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// The latest code that was requested without a session for one of these identity keys. At least one key.
    Identities(Vec<String>),
    /// The latest code that this signed-in customer requested.
    RequestedBy(CustomerId),
}

/// A code as the client sent it. Only six ASCII digits in a JSON string are compared. Every other value is wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
pub(super) enum SubmittedCode {
    /// The field is missing.
    #[default]
    Missing,
    /// The field is not a string of six ASCII digits and therefore cannot be right. `null` is one of these values.
    Unusable,
    /// Six digits.
    Digits(SecretString),
}

impl From<Value> for SubmittedCode {
    fn from(value: Value) -> Self {
        let digits = value.as_str().filter(|text| text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit()));
        digits.map_or(Self::Unusable, |digits| Self::Digits(digits.into()))
    }
}

body! {
    /// The body of the routes that take a code from a signed-in customer.
    #[derive(Debug)]
    pub(super) struct CodeBody {
        /// The verification code: six digits.
        #[serde(default)]
        pub(super) code: SubmittedCode,
    }
}

/// The digest that is stored instead of the digits.
fn digest(key: &ApplicationKey, id: Uuid, digits: &SecretString) -> SecretDigest {
    key.mac("verification codes", &[id.as_bytes().as_slice(), digits.expose_secret().as_bytes()].concat())
}
