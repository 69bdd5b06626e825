//! The languages of mails to operators.

use serde::{Deserialize, Serialize};

/// The language of mails to an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, sqlx::Type)]
#[serde(try_from = "String", rename_all(serialize = "snake_case"))]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum MailLanguage {
    /// English.
    #[default]
    En,
    /// German.
    De,
}

/// The text names no language of mails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be en or de.")]
pub struct InvalidMailLanguage;

impl MailLanguage {
    /// The tags.
    pub const NAMES: &'static [&'static str] = &["en", "de"];

    /// The tag.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
        }
    }
}

impl TryFrom<String> for MailLanguage {
    type Error = InvalidMailLanguage;

    fn try_from(text: String) -> Result<Self, InvalidMailLanguage> {
        [Self::En, Self::De].into_iter().find(|language| language.as_str() == text).ok_or(InvalidMailLanguage)
    }
}
