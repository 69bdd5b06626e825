//! The key of a link and the token of a session. Each is stored as a digest.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{random_base62, sha256};

/// The key of a link in plain text, as the address contains it behind its `#`.
#[derive(Clone, Debug)]
pub struct LinkKey(SecretString);

/// The token of a session in plain text, as the cookie contains it.
#[derive(Clone, Debug)]
pub struct SessionToken(SecretString);

impl LinkKey {
    pub(super) fn generate() -> Self {
        Self(random_base62(40).into())
    }

    /// The key that a request claims to know.
    pub fn claimed(text: &str) -> Self {
        Self(text.into())
    }

    pub(super) fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        sha256(self.0.expose_secret())
    }
}

impl SessionToken {
    pub(super) fn generate() -> Self {
        Self(random_base62(43).into())
    }

    /// The token of a cookie.
    pub fn claimed(text: &str) -> Self {
        Self(text.into())
    }

    /// The token in plain text, for the cookie.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        sha256(self.0.expose_secret())
    }
}
