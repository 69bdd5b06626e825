//! Message authentication codes.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use crate::kernel::crypto::SecretDigest;

/// HMAC-SHA1 over the concatenation of `parts`, for services that sign with nothing better.
pub fn hmac_sha1(key: &[u8], parts: &[&[u8]]) -> SecretDigest {
    hmac::<Hmac<Sha1>>(key, parts)
}

/// HMAC-SHA256 over the concatenation of `parts`.
pub fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> SecretDigest {
    hmac::<Hmac<Sha256>>(key, parts)
}

/// HMAC-SHA384 over the concatenation of `parts`.
pub fn hmac_sha384(key: &[u8], parts: &[&[u8]]) -> SecretDigest {
    hmac::<Hmac<Sha384>>(key, parts)
}

/// HMAC-SHA512 over the concatenation of `parts`.
pub fn hmac_sha512(key: &[u8], parts: &[&[u8]]) -> SecretDigest {
    hmac::<Hmac<Sha512>>(key, parts)
}

fn hmac<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> SecretDigest {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC accepts keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec().into()
}
