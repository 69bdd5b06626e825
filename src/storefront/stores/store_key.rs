//! Store keys: `store_` and 32 lower-case hex digits. They ship inside apps, so they identify a store and authenticate nothing
//! else.

use crate::kernel::crypto::{random_hex, sha256};

const PREFIX: &str = "store_";

/// A store key as an app sends it.
#[derive(Clone)]
pub struct StoreKey(String);

impl StoreKey {
    pub(super) fn generate() -> Self {
        Self(format!("{PREFIX}{}", random_hex::<16>()))
    }

    /// Checks the format only. The database decides whether the key exists.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_hex = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_hex.then(|| Self(text.to_owned()))
    }

    /// The digest that is stored.
    pub fn digest(&self) -> [u8; 32] {
        sha256(&self.0)
    }

    /// The key in plain text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreKey(…)")
    }
}
