//! bcrypt: Supabase, Auth0, Rails, Laravel, and WordPress since 6.8.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::kernel::crypto::hmac_sha384;
use crate::kernel::password_hashing::of_others::InvalidHash;

/// Cost 12 takes about a third of a second.
const MAX_COST: u32 = 12;

#[derive(Debug)]
pub struct BcryptHash {
    hash: String,
    /// WordPress hashes a digest of the password (`$wp$2y$…`), because bcrypt reads 72 bytes at most.
    of_digest: bool,
}

impl BcryptHash {
    pub(super) fn read(text: &str) -> Result<Self, InvalidHash> {
        let (hash, of_digest) = match text.strip_prefix("$wp") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let parts: bcrypt::HashParts = hash.parse().map_err(|_| InvalidHash::Unknown)?;
        match parts.get_cost() {
            cost if cost > MAX_COST => Err(InvalidHash::TooCostly),
            _ => Ok(Self { hash: hash.to_owned(), of_digest }),
        }
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let matches = |password: &[u8]| bcrypt::verify(password, &self.hash).unwrap_or(false);
        if self.of_digest { matches(digest_of(password).as_bytes()) } else { matches(password) }
    }
}

fn digest_of(password: &[u8]) -> String {
    BASE64_STANDARD.encode(hmac_sha384(b"wp-sha384", &[password.trim_ascii()]))
}
