//! The rules for new passwords, and the lock-outs by wrong ones ([`wrong`]).

mod queries;
mod wrong;

use std::collections::HashSet;
use std::sync::LazyLock;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

pub use queries::{find_lockout, forget_wrong_passwords, settle_right, settle_wrong, sweep_wrong_passwords};
pub use wrong::{Counted, IN_FLIGHT, Refusal, WINDOW, subject_of};

/// The minimum and the maximum number of characters of a password.
const MIN_LEN: usize = 8;
const MAX_LEN: usize = 256;
/// The passwords of at least 8 characters among the 10,000 most common ones, in lower case (from the frequency list of zxcvbn,
/// MIT).
static COMMON_PASSWORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("common.txt").lines().collect());

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPassword {
    #[error("The password needs at least 8 characters.")]
    TooShort,
    #[error("The password may have at most 256 characters.")]
    TooLong,
    #[error("This password is one of the most common ones. Please choose another.")]
    Common,
}

/// The length of a new password as JSON Schema keywords.
pub fn length() -> Value {
    json!({ "minLength": MIN_LEN, "maxLength": MAX_LEN })
}

pub fn parse(password: &SecretString) -> Result<SecretString, InvalidPassword> {
    let text = password.expose_secret();
    match text.chars().count() {
        0..MIN_LEN => Err(InvalidPassword::TooShort),
        length if length > MAX_LEN => Err(InvalidPassword::TooLong),
        _ if COMMON_PASSWORDS.contains(text.to_lowercase().as_str()) => Err(InvalidPassword::Common),
        _ => Ok(password.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_have_8_to_256_characters_and_are_not_common() {
        let refusal = |text: &str| parse(&text.into()).err();
        assert_eq!(refusal("1234567"), Some(InvalidPassword::TooShort));
        assert_eq!(refusal(&"é".repeat(257)), Some(InvalidPassword::TooLong));
        assert_eq!(refusal(&"é".repeat(256)), None);
        assert_eq!(refusal("password"), Some(InvalidPassword::Common));
        assert_eq!(refusal("PassWord1"), Some(InvalidPassword::Common));
        assert_eq!(refusal("correct horse"), None);
    }
}
