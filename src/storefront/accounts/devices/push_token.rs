//! A device's token at the push service: looked up by its digest, stored encrypted.

use secrecy::ExposeSecret;

use crate::kernel::crypto::{ApplicationKey, CannotOpen, sha256};
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo};

/// The column that holds tokens.
pub const SEALED: SealedColumn = SealedColumn {
    table: "devices",
    column: "sealed_token",
    content: "push tokens of devices",
    context: Context::OfDigest("token_digest", context),
    sent_to: SentTo::Nobody,
};

/// SHA-256 of a token.
pub(super) type Digest = [u8; 32];

/// A token in the form in which it is stored.
pub(super) struct SealedToken {
    pub(super) digest: Digest,
    pub(super) sealed: Vec<u8>,
}

impl SealedToken {
    pub(super) fn new(key: &ApplicationKey, token: &str) -> Self {
        let digest = sha256(token);
        Self { digest, sealed: key.seal(&context(&digest), token.as_bytes()) }
    }
}

/// Decrypts a token that was encrypted for the row with this digest.
pub(super) fn open(key: &ApplicationKey, digest: &[u8], sealed: &[u8]) -> Result<String, CannotOpen> {
    let opened = key.open(&context(digest), sealed)?;
    String::from_utf8(opened.expose_secret().to_vec()).map_err(|_| CannotOpen)
}

/// The encryption context. It contains the digest, which does not change when the device is reassigned to another customer.
fn context(digest: &[u8]) -> String {
    format!("push token {}", hex::encode(digest))
}
