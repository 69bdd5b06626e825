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
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::CustomerId;
use crate::kernel::secret_digest::SecretDigest;
use crate::storefront::routes::body;

pub(super) use check::{NOT_RIGHT, check};
pub(super) use issue::{Method, NOT_MAILED, NOT_TEXTED, Order, issue, straight_to};
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

    /// Whether its code goes to whatever somebody names, be it theirs or not, rather than to what belongs to an account.
    fn is_for_whatever_is_named(self) -> bool {
        matches!(self, Self::CreateAccount | Self::VerifyEmail)
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
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
pub(super) enum SubmittedCode {
    /// The member was not there.
    #[default]
    Missing,
    /// It was there and is not six ASCII digits, so it cannot be right; `null` is one of these.
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
    pub(super) struct CodeRequest {
        /// The code that was sent.
        #[serde(default)]
        pub(super) code: SubmittedCode,
    }
}

/// What is stored instead of the digits.
fn digest(key: &ApplicationKey, id: Uuid, digits: &SecretString) -> SecretDigest {
    key.mac("verification codes", &[id.as_bytes().as_slice(), digits.expose_secret().as_bytes()].concat())
}
