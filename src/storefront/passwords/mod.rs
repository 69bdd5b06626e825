//! Which passwords a customer may choose, and how many wrong ones are listened to.

mod queries;

use std::collections::HashSet;
use std::sync::LazyLock;

use chrono::TimeDelta;
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::ids::StoreId;
use crate::kernel::rate_limit::Rule;
use crate::kernel::secrets::sha256;

pub(super) use queries::count_guess;

/// Ten wrong passwords for one identity within fifteen minutes (decisions, section 3).
const WRONG_PASSWORDS: Rule = Rule { limit: 10, window: TimeDelta::minutes(15) };

/// Where the wrong passwords for an identity are counted. A digest, because what is typed there may be a password in the wrong field.
pub(super) fn bucket(store: StoreId, identity: &str) -> String {
    format!("passwords:{store}:{}", hex::encode(sha256(identity)))
}

/// Those of the 10,000 most common passwords that are long enough to be chosen, lower-case (from the frequency list of zxcvbn, MIT).
static COMMON: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("common.txt").lines().collect());

/// The text cannot be a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadPassword {
    #[error("The password needs at least 8 characters.")]
    TooShort,
    #[error("The password may have at most 256 characters.")]
    TooLong,
    #[error("This password is one of the most common ones. Please choose another.")]
    Common,
}

/// Reads a password that somebody wants to use from now on.
pub(super) fn parse(password: &SecretString) -> Result<SecretString, BadPassword> {
    let text = password.expose_secret();
    match text.chars().count() {
        0..8 => Err(BadPassword::TooShort),
        257.. => Err(BadPassword::TooLong),
        _ if COMMON.contains(text.to_lowercase().as_str()) => Err(BadPassword::Common),
        _ => Ok(password.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_have_8_to_256_characters_and_are_not_common() {
        let refusal = |text: &str| parse(&text.into()).err();
        assert_eq!(refusal("1234567"), Some(BadPassword::TooShort));
        assert_eq!(refusal(&"é".repeat(257)), Some(BadPassword::TooLong));
        assert_eq!(refusal(&"é".repeat(256)), None);
        assert_eq!(refusal("password"), Some(BadPassword::Common));
        assert_eq!(refusal("PassWord1"), Some(BadPassword::Common));
        assert_eq!(refusal("correct horse"), None);
    }
}
