//! What vouches for a secret, and the one comparison that judges it.
//!
//! Keys that are found by their digest, in an index or a map, need no comparison: how long the search takes may tell of a digest, but whoever
//! knows one does not know the key behind it.

use subtle::ConstantTimeEq;

/// Bytes that only somebody can have who knows a secret: its digest, or a digest made with it.
///
/// There is no `==` for them. It would end at the first byte that differs, and whoever measures how long it takes finds the right ones one
/// after the other.
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
    /// Whether `other` is the same, in a time that does not tell where it differs.
    #[must_use]
    pub fn is(&self, other: impl AsRef<[u8]>) -> bool {
        self.0.ct_eq(other.as_ref()).into()
    }
}

/// As the database has it.
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

/// To be written down or sent.
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
