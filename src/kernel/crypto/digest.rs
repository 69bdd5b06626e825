//! Digests that prove knowledge of a secret, and their comparison in constant time.
//!
//! Keys that are looked up by their digest, in an index or a map, need no such comparison. The lookup time may reveal parts of a
//! digest, but a digest does not reveal its key.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A digest of a secret, or a MAC made with it.
///
/// It does not implement `==`. That comparison ends at the first byte that differs, and a timing attack could find the bytes one by one.
///
/// ```
/// let digest = portico::kernel::crypto::hmac_sha256(b"key", &[b"message"]);
/// assert!(digest.is(&digest) && !digest.is(b"forged"));
/// ```
///
/// ```compile_fail,E0369
/// let digest = portico::kernel::crypto::hmac_sha256(b"key", &[b"message"]);
/// assert!(digest == digest);
/// ```
#[derive(Clone)]
pub struct SecretDigest(Vec<u8>);

impl SecretDigest {
    /// Compares in constant time.
    #[must_use]
    pub fn is(&self, other: impl AsRef<[u8]>) -> bool {
        self.0.ct_eq(other.as_ref()).into()
    }
}

/// A digest read from the database.
impl From<Vec<u8>> for SecretDigest {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl<const N: usize> From<[u8; N]> for SecretDigest {
    fn from(bytes: [u8; N]) -> Self {
        Self(bytes.into())
    }
}

/// The bytes, for storing or sending.
impl AsRef<[u8]> for SecretDigest {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretDigest(…)")
    }
}

/// SHA-256, for secrets with enough entropy to rule out a search: keys and tokens, never codes or passwords.
pub fn sha256(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
