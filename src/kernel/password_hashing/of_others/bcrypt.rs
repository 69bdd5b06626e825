//! bcrypt: Supabase, Auth0, Rails, Laravel, and WordPress since 6.8.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::kernel::crypto::hmac_sha384;
use crate::kernel::password_hashing::of_others::InvalidHash;

/// The cost of many services: about half a second. It is accepted on every machine.
const USUAL_COST: u32 = 13;
/// The maximum time of a comparison of a higher cost. Each step takes twice as long as the one before.
const LONGEST: Duration = Duration::from_secs(1);
/// The cost of the comparison that is measured: some milliseconds.
const SAMPLE_COST: u32 = 7;
/// How many bytes of a password bcrypt reads. A shorter one ends with a NUL, which it reads too.
const READ: usize = 72;

/// How long a comparison of the measured cost takes on this machine: the fastest of several, because others use the processor meanwhile.
static SAMPLE: LazyLock<Duration> = LazyLock::new(|| {
    let take = |_| {
        let begun = Instant::now();
        let _ = black_box(bcrypt::bcrypt(SAMPLE_COST, [0; 16], b"correct horse\0"));
        begun.elapsed()
    };
    (0..5).map(take).min().unwrap_or_default()
});

#[derive(Debug)]
pub struct BcryptHash {
    hash: String,
    cost: u32,
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
            cost @ 4..=31 => Ok(Self { hash: hash.to_owned(), cost, of_digest }),
            _ => Err(InvalidHash::Unknown),
        }
    }

    /// Whether a comparison would take too long on this machine.
    pub(super) fn takes_too_long(&self) -> bool {
        self.cost > USUAL_COST && *SAMPLE * (1 << (self.cost - SAMPLE_COST)) > LONGEST
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let matches = |password: &[u8]| bcrypt::verify(password, &self.hash).unwrap_or(false);
        if self.of_digest { matches(digest_of(password).as_bytes()) } else { matches(password) }
    }

    /// Whether the hash depends on the whole password. That of WordPress leaves out the blanks around it.
    pub(super) fn reads_all_of(&self, password: &[u8]) -> bool {
        if self.of_digest { password.trim_ascii() == password } else { password.len() < READ }
    }
}

fn digest_of(password: &[u8]) -> String {
    BASE64_STANDARD.encode(hmac_sha384(b"wp-sha384", &[password.trim_ascii()]))
}
