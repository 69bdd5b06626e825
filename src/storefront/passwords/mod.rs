//! The rules for new passwords, and the lock-outs by wrong ones ([`wrong`]).

mod queries;
mod wrong;

use std::collections::HashSet;
use std::sync::LazyLock;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::contact::is_blank;
use crate::kernel::password_hashing::{MAX_LEN, Password};

pub use queries::{find_lockout, forget_wrong_passwords, settle_right, settle_wrong, sweep_lockouts, sweep_wrong_passwords};
pub use wrong::{Counted, IN_FLIGHT, Refusal, WINDOW, subject_of};

/// The minimum number of characters of a password.
const MIN_LEN: usize = 8;
/// The passwords of at least 8 characters among the 100,000 most common ones, in their one spelling and lower case: 38,452 (from the list of
/// ten million passwords of SecLists and the frequency list of zxcvbn, both MIT).
static COMMON_PASSWORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("common.txt").lines().collect());

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPassword {
    #[error("The password needs at least 8 characters.")]
    TooShort,
    #[error("The password may have at most 256 characters.")]
    TooLong,
    #[error("The password must have characters other than blanks.")]
    Blank,
    #[error("This password is one of the most common ones. Please choose another.")]
    Common,
    #[error("This password was found in a breach of another service. Please choose another.")]
    Breached,
}

/// The length of a new password as JSON Schema keywords.
pub fn length() -> Value {
    json!({ "minLength": MIN_LEN, "maxLength": MAX_LEN })
}

/// Checks a new password.
pub fn parse(typed: &SecretString) -> Result<Password, InvalidPassword> {
    let password = Password::read(typed).ok_or(InvalidPassword::TooLong)?;
    let text = password.secret().expose_secret();
    match password.length() {
        0..MIN_LEN => Err(InvalidPassword::TooShort),
        _ if is_blank(text) => Err(InvalidPassword::Blank),
        _ if COMMON_PASSWORDS.contains(text.to_lowercase().as_str()) => Err(InvalidPassword::Common),
        _ => Ok(password),
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
        assert_eq!(COMMON_PASSWORDS.len(), 38_452);
        assert_eq!(refusal("correct horse"), None);
        for blank in ["        ", &"\u{200b}".repeat(8), &"\u{3000}".repeat(9)] {
            assert_eq!(refusal(blank), Some(InvalidPassword::Blank), "{blank:?}");
        }
        assert_eq!(refusal("ｐａｓｓｗｏｒｄ"), Some(InvalidPassword::Common), "in full-width letters");
    }
}
