//! Passwords that operators may choose.

use secrecy::{ExposeSecret, SecretString};

/// A password of 12 to 256 characters: an operator reaches more than a customer does.
#[derive(Clone, Debug)]
pub struct OperatorPassword(SecretString);

/// The text has fewer than 12 or more than 256 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an operator's password must have 12 to 256 characters")]
pub struct BadOperatorPassword;

impl OperatorPassword {
    /// Counts characters, not bytes.
    pub fn parse(text: SecretString) -> Result<Self, BadOperatorPassword> {
        match text.expose_secret().chars().count() {
            12..=256 => Ok(Self(text)),
            _ => Err(BadOperatorPassword),
        }
    }

    pub(super) fn into_secret(self) -> SecretString {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_12_to_256_characters() {
        for (length, fits) in [(11, false), (12, true), (256, true), (257, false)] {
            assert_eq!(OperatorPassword::parse("é".repeat(length).into()).is_ok(), fits, "{length}");
        }
    }
}
