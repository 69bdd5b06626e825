//! API keys: `key_` and 40 base62 characters, stored as a digest.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{random_base62, sha256};

const PREFIX: &str = "key_";

/// An API key in plain text, as clients send it.
#[derive(Clone, Debug)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// A new key with 238 random bits.
    pub fn generate() -> Self {
        Self(format!("{PREFIX}{}", random_base62(40)).into())
    }

    /// Checks the format only. Whether the key exists is checked in the database.
    pub fn parse(text: &str) -> Option<Self> {
        let secret = text.strip_prefix(PREFIX)?;
        (secret.len() == 40 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric())).then(|| Self(text.into()))
    }

    /// The digest that is stored.
    pub fn digest(&self) -> [u8; 32] {
        sha256(self.0.expose_secret())
    }

    /// The key in plain text, to be shown once.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}
