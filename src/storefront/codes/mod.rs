//! Verification codes: six digits, valid for ten minutes, for one use and five guesses (interface 1, States and transitions;
//! `docs/specification/decisions.md`, section 4).
//!
//! [`issue`] replaces the previous code of the same purpose and identity, unless that code is younger than one minute. [`check`]
//! counts the guess and commits before anybody learns the verdict. Only the [`asker`] is told more than that a code is not
//! valid. It returns a
//! [`VerifiedCode`], which the flow must consume in its own transaction. Only one caller can consume a code.

mod asker;
mod check;
mod fixed;
mod issue;
mod issue_error;
mod queries;
mod replacing;
mod reserving;
mod rules;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::crypto::{ApplicationKey, SecretDigest, six_digits};
use crate::kernel::ids::CustomerId;
use crate::kernel::json;

pub use asker::{Asker, Handle, Request};
pub use check::{CODE_REFUSALS, CheckError, Submission, VerifiedCode, check};
pub use issue::{IssueRequest, Issued, channels_for, issue};
pub use issue_error::{MAIL_REFUSALS, TEXT_REFUSALS};
pub use queries::{
    SentCode, find_lockout, forget_codes, forget_codes_of_closed, forget_open_codes, forget_wrong_codes, list_sent, sweep_codes,
    sweep_lockouts, sweep_wrong_codes, was_requested_by,
};
pub use rules::{MAX_GUESSES, VERDICTS};

/// Which code a guess is compared with.
#[derive(Clone, Debug)]
pub enum Target {
    /// The latest code that was requested without a session for one of these identity keys. At least one key.
    Identities(Vec<String>),
    /// The latest code that this signed-in customer requested.
    RequestedBy(CustomerId),
}

/// A code as the client sent it. Only six digits in a JSON string are compared, as people type and paste them. Every other value is wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
pub enum SubmittedCode {
    /// The field is missing, null or empty.
    #[default]
    Missing,
    /// The field is not a string of six digits and therefore cannot be right.
    Unusable,
    /// Six digits.
    Digits(SecretString),
}

impl From<Value> for SubmittedCode {
    fn from(value: Value) -> Self {
        match value.as_str().and_then(six_digits) {
            Some(digits) => Self::Digits(digits),
            None if json::is_missing(&value) => Self::Missing,
            None => Self::Unusable,
        }
    }
}

const PURPOSE: &str = "verification codes";

/// The digest that is stored instead of the digits.
fn digest(key: &ApplicationKey, id: Uuid, digits: &SecretString) -> SecretDigest {
    key.mac(PURPOSE, &digested(id, digits))
}

/// Whether these are the digits that are stored as `digest`, by whichever key.
fn is_digest(digest: &SecretDigest, key: &ApplicationKey, id: Uuid, digits: &SecretString) -> bool {
    key.macs(PURPOSE, &digested(id, digits)).any(|mac| mac.is(digest))
}

fn digested(id: Uuid, digits: &SecretString) -> Vec<u8> {
    [id.as_bytes().as_slice(), digits.expose_secret().as_bytes()].concat()
}
