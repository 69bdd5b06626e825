//! API keys: `key_` and 40 base62 characters, stored as a digest.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::secrets::{random_base62_40, sha256};

const PREFIX: &str = "key_";

/// An API key as its holder sends it.
#[derive(Clone, Debug)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// A new key of 238 random bits.
    pub fn generate() -> Self {
        Self(format!("{PREFIX}{}", random_base62_40()).into())
    }

    /// Reads the form alone: whether the key exists only the database knows.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let secret = text.strip_prefix(PREFIX)?;
        (secret.len() == 40 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric())).then(|| Self(text.into()))
    }

    /// What is stored of it.
    pub fn digest(&self) -> [u8; 32] {
        sha256(self.0.expose_secret())
    }

    /// The key itself, to be shown once.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}
