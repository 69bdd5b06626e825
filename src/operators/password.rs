//! Passwords that operators may choose.

use secrecy::SecretString;

use crate::kernel::password_hashing::Password;

/// The minimum number of characters: an operator reaches more than a customer does.
const MIN_LEN: usize = 12;

/// A password of 12 to 256 characters, in the one spelling of passwords.
#[derive(Clone, Debug)]
pub struct OperatorPassword(Password);

/// The text has fewer than 12 or more than 256 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an operator's password must have 12 to 256 characters")]
pub struct BadOperatorPassword;

impl OperatorPassword {
    /// Counts characters of the one spelling, not bytes.
    pub fn parse(typed: &SecretString) -> Result<Self, BadOperatorPassword> {
        Password::read(typed).filter(|password| password.length() >= MIN_LEN).map(Self).ok_or(BadOperatorPassword)
    }

    pub(super) fn into_password(self) -> Password {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_12_to_256_characters() {
        for (length, fits) in [(11, false), (12, true), (256, true), (257, false)] {
            for letter in ["é", "e\u{301}"] {
                assert_eq!(OperatorPassword::parse(&letter.repeat(length).into()).is_ok(), fits, "{length} {letter:?}");
            }
        }
    }
}
