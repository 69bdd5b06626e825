//! Who of a company's own customers something is for.

use serde::{Deserialize, Serialize};

use crate::kernel::limit_key::LimitKey;

/// The maximum number of characters.
pub const MAX_OWNER: usize = 255;

/// The name that a company gives one of its own customers, such as a tenant id. It is compared exactly: 1 to 255 characters, no control
/// characters, no white space at either end.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, sqlx::Type)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct Owner(String);

/// The text cannot be an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOwner {
    /// The text is empty.
    #[error("An owner may not be empty.")]
    Empty,
    /// The text is longer than the limit.
    #[error("An owner may have {MAX_OWNER} characters at most.")]
    TooLong,
    /// The text contains control characters.
    #[error("An owner may not contain control characters.")]
    Control,
    /// Trimming would make two owners of one, and nobody would see why nothing arrives.
    #[error("An owner may not begin or end with white space.")]
    WhiteSpace,
}

impl LimitKey for Owner {}

impl Owner {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Owner {
    type Error = InvalidOwner;

    fn try_from(text: String) -> Result<Self, InvalidOwner> {
        if text.is_empty() {
            return Err(InvalidOwner::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(InvalidOwner::Control);
        }
        if text.trim() != text {
            return Err(InvalidOwner::WhiteSpace);
        }
        if text.chars().count() > MAX_OWNER { Err(InvalidOwner::TooLong) } else { Ok(Self(text)) }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_an_exact_text() {
        for text in ["7", "tenant-7", "Müller & Söhne", &"ä".repeat(255)] {
            assert_eq!(Owner::try_from(text.to_owned()).unwrap().as_str(), text);
        }
        for (text, error) in [
            ("", InvalidOwner::Empty),
            (" ", InvalidOwner::WhiteSpace),
            ("7 ", InvalidOwner::WhiteSpace),
            ("\u{a0}7", InvalidOwner::WhiteSpace),
            ("7\n", InvalidOwner::Control),
            ("7\0", InvalidOwner::Control),
            (&"7".repeat(256), InvalidOwner::TooLong),
        ] {
            assert_eq!(Owner::try_from(text.to_owned()), Err(error), "{text:?}");
        }
    }
}
