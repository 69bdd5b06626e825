//! The word for a provider in the database and in the settings.

use std::borrow::Cow;
use std::fmt;

use crate::providers::RouteName;

/// The provider that vouches for an identity. The same subject may stand for different people at different providers.
///
/// The word is that of the settings `providers.<word>`, of the links of accounts and of the audit: `idp_a` for the provider that is listed
/// as `idp-a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider(Cow<'static, str>);

impl Provider {
    /// Provider C, which verified an access token.
    pub const IDP_C: Self = Self(Cow::Borrowed("idp_c"));
    /// No provider: the id of provider C was not verified. Such an identity is never treated as a verified one of provider C, and vice
    /// versa.
    pub const CLAIMED_IDP_C: Self = Self(Cow::Borrowed("claimed_idp_c"));

    /// The provider that is listed under this name.
    pub fn listed_as(name: &RouteName) -> Self {
        Self(name.to_string().replace('-', "_").into())
    }

    /// The provider of the settings `providers.<word>`.
    pub(super) fn of_settings(word: &str) -> Self {
        Self(word.to_owned().into())
    }

    /// The word, such as `idp_a`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that the provider has in every deployment: `idp-a`. A name has no underscores, so no two names have the same word.
    pub fn neutral_name(&self) -> String {
        self.0.replace('_', "-")
    }

    /// The key of one of its settings.
    pub(super) fn setting(&self, key: &str) -> String {
        format!("providers.{self}.{key}")
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
