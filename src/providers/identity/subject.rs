//! A provider's id of a person.

use crate::providers::identity::Flaw;

/// A provider's id of a person: 1 to 255 visible ASCII characters, the limit of OpenID Connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(String);

impl Subject {
    pub(super) fn parse(text: &str) -> Result<Self, Flaw> {
        let is_subject = (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_subject { Ok(Self(text.to_owned())) } else { Err(Flaw::Subject) }
    }

    /// The id in the provider's spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_visible_ascii() {
        assert!(Subject::parse("001999.0123abcd.0456").is_ok() && Subject::parse(&"1".repeat(255)).is_ok());
        for text in ["", " ", "1 2", "1\0", "größe", "1\n", &"1".repeat(256)] {
            assert_eq!(Subject::parse(text), Err(Flaw::Subject), "{text:?}");
        }
    }
}
