//! Versions of the card provider's API.

use std::fmt;
use std::str::FromStr;

/// A date, followed by a word since 2024: `2024-06-20`, `2024-09-30.acacia`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct ApiVersion(String);

/// The text is not an API version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The version of the card provider's API must be a date, such as 2024-06-20.")]
pub struct InvalidApiVersion;

impl ApiVersion {
    /// The version as the value of the header.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ApiVersion {
    type Err = InvalidApiVersion;

    fn from_str(text: &str) -> Result<Self, InvalidApiVersion> {
        let (date, word) = match text.split_once('.') {
            Some((date, word)) => (date, Some(word)),
            None => (text, None),
        };
        let is_date = date.len() == 10
            && date.bytes().enumerate().all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
        let is_word = word.is_none_or(|word| (1..=30).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase()));
        if is_date && is_word { Ok(Self(text.to_owned())) } else { Err(InvalidApiVersion) }
    }
}

impl TryFrom<String> for ApiVersion {
    type Error = InvalidApiVersion;

    fn try_from(text: String) -> Result<Self, InvalidApiVersion> {
        text.parse()
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_date_and_perhaps_a_word() {
        for text in ["2020-08-27", "2024-09-30.acacia"] {
            assert_eq!(text.parse::<ApiVersion>().unwrap().as_str(), text);
        }
        for text in ["", "latest", "2024-6-20", "2024-06-20.", "2024-06-20.A", "2024-06-20\r\nx: y", "2024/06/20", "2024-06-20 "] {
            assert_eq!(text.parse::<ApiVersion>(), Err(InvalidApiVersion), "{text:?}");
        }
    }
}
