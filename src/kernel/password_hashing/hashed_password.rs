//! What is stored of a password, and how one is compared with it.

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{SecretDigest, random_bytes};
use crate::kernel::password_hashing::of_others::{HashOfOthers, InvalidHash};
use crate::kernel::password_hashing::password::Password;

/// m=19456 KiB, t=2, p=1. Decisions, section 3.
pub(super) const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;

/// The stored hash of a password: a PHC string, or the hash of another service in its own form ([`HashOfOthers`]). Never displayed.
#[derive(Clone, sqlx::Type)]
#[sqlx(transparent)]
pub struct HashedPassword(String);

impl HashedPassword {
    /// The hash of a password, with a salt of its own. `memory` is what it works in.
    pub(super) fn of(password: &Password, memory: &mut [Block]) -> Self {
        let salt = random_bytes::<16>();
        let params = today();
        let output = digest(&params, password.secret().expose_secret().as_bytes(), &salt, memory);
        let hash = PasswordHash {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params: ParamsString::try_from(&params).expect("the constant parameters are valid in a PHC string"),
            salt: Some(Salt::new(&salt).expect("16 bytes are a valid salt length")),
            hash: Some(Output::new(output.as_ref()).expect("32 bytes are a valid output length")),
        };
        Self(hash.to_string())
    }

    /// The hash that another service made. The first right password replaces it, if the hash has read all of it.
    pub fn of_another_service(text: String) -> Result<Self, InvalidHash> {
        if text.parse::<HashOfOthers>()?.takes_too_long() {
            return Err(InvalidHash::TooCostly);
        }
        // In Django's form, unless it is one of ours: an edition that knows ours alone takes it for a wrong one then.
        Ok(Self(if text.starts_with("$argon2") && read_own(&text).is_none() { format!("argon2{text}") } else { text }))
    }

    /// The text that is stored.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for HashedPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashedPassword(…)")
    }
}

/// The result of comparing a password with a stored hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// A different password, or no stored hash.
    Wrong,
    /// The right password, and the stored hash stays: it has the current parameters, or another service's hash has read only a part of the password.
    Right,
    /// The right password, hashed with older parameters, in another spelling or by another service; it should be hashed again.
    RightButOutdated,
}

fn today() -> Params {
    Params::new(MEMORY_KIB, PASSES, 1, Some(32)).expect("the constant parameters are within Argon2's limits")
}

fn digest(params: &Params, password: &[u8], salt: &[u8], memory: &mut [Block]) -> SecretDigest {
    let mut output = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone())
        .hash_password_into_with_memory(password, salt, &mut output, memory)
        .expect("passwords and salts are within Argon2's limits");
    output.into()
}

/// Compares one of the spellings of a password with a stored hash; without a hash it does the same amount of work. A right password in another
/// spelling than the one that is hashed is outdated.
pub(super) fn compare(
    (password, is_the_one_spelling): (&SecretString, bool),
    stored: Option<&HashedPassword>,
    memory: &mut [Block],
) -> Comparison {
    let (password, stored) = (password.expose_secret().as_bytes(), stored.map(HashedPassword::expose));
    let Some((params, salt, hash)) = stored.and_then(read_own) else {
        let imported = stored.and_then(|stored| stored.parse::<HashOfOthers>().ok());
        if let Some(hash) = imported.filter(|hash| hash.is_of(password)) {
            // The part that it has not read may have a typing error, which must not become the password.
            return if hash.reads_all_of(password) { Comparison::RightButOutdated } else { Comparison::Right };
        }
        // Many services' hashes take less work than ours: without more, a quick answer would tell that there is an account.
        digest(&today(), password, &[0; 16], memory);
        return Comparison::Wrong;
    };
    let output = digest(&params, password, salt.as_ref(), memory);
    let outdated = !is_the_one_spelling || (params.m_cost(), params.t_cost(), params.p_cost()) != (MEMORY_KIB, PASSES, 1);
    match (output.is(hash), outdated) {
        (false, _) => Comparison::Wrong,
        (true, false) => Comparison::Right,
        (true, true) => Comparison::RightButOutdated,
    }
}

/// Reads a hash that this service made, now or with parameters that need no more memory than the thread has.
fn read_own(stored: &str) -> Option<(Params, Salt, Output)> {
    let stored = PasswordHash::new(stored).ok()?;
    let is_own = stored.algorithm == Algorithm::Argon2id.ident() && stored.version == Some(Version::V0x13.into());
    let (params, salt, hash) = (Params::try_from(&stored).ok()?, stored.salt?, stored.hash?);
    let fits = params.block_count() <= today().block_count();
    (is_own && fits && hash.as_ref().len() == 32).then_some((params, salt, hash))
}
