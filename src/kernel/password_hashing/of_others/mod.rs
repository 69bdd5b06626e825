//! Password hashes that other services made, as customers who move in bring them. Each is only compared: after the first right password ours
//! replaces it.
//!
//! A company that imports a hash chooses how much work each sign-in with it is. So the parameters are bounded: one comparison takes at most 64 MiB,
//! which are freed, and about half a second on one core. A cost of bcrypt beyond the usual one is measured, because each step doubles the work, and
//! may take a second. Comparisons wait in the same queue as ours, so all of them together have no more than its threads.

mod argon2;
mod bcrypt;
mod magento;
mod pbkdf2;
mod phpass;
mod scrypt;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::kernel::crypto::SecretDigest;
use crate::kernel::password_hashing::of_others::argon2::Argon2Hash;
use crate::kernel::password_hashing::of_others::bcrypt::BcryptHash;
use crate::kernel::password_hashing::of_others::magento::MagentoHash;
use crate::kernel::password_hashing::of_others::pbkdf2::Pbkdf2Hash;
use crate::kernel::password_hashing::of_others::phpass::PhpassHash;
use crate::kernel::password_hashing::of_others::scrypt::{FirebaseHash, KdfHash, ScryptHash};

/// In bytes. The longest is a hash of Firebase with its signer key.
const MAX_LEN: usize = 512;
/// In bytes: what a derived key or digest may have. A shorter one would be guessed by chance.
const OUTPUT: std::ops::RangeInclusive<usize> = 16..=64;
/// Salts are padded in some forms and not in others.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// Its message tells the importer what is wrong with the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHash {
    /// The form is none of those that are known, or is damaged.
    #[error("The password hash is in no known form.")]
    Unknown,
    /// A comparison would take too long, or too much memory.
    #[error("The password hash takes more work than is allowed.")]
    TooCostly,
    /// A fast algorithm alone has made it, so it protects no password.
    #[error("The password hash is of a fast algorithm, which protects no password. Let the other service make it stronger first.")]
    TooWeak,
}

/// A hash of another service, within the bounds.
#[derive(Debug)]
pub(super) enum HashOfOthers {
    Bcrypt(BcryptHash),
    Scrypt(ScryptHash),
    Kdf(KdfHash),
    Firebase(FirebaseHash),
    Pbkdf2(Pbkdf2Hash),
    Argon2(Argon2Hash),
    Phpass(PhpassHash),
    Magento(MagentoHash),
}

impl FromStr for HashOfOthers {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        if text.len() > MAX_LEN {
            return Err(InvalidHash::Unknown);
        }
        // Django writes the name of the algorithm before the form that all others use.
        let text = text.strip_prefix("argon2").filter(|rest| rest.starts_with("$argon2")).unwrap_or(text);
        let name = text.trim_start_matches('$').split('$').next().unwrap_or_default();
        match name {
            "2a" | "2b" | "2y" | "wp" => BcryptHash::read(text).map(Self::Bcrypt),
            "scrypt" => ScryptHash::read(text).map(Self::Scrypt),
            "fbscrypt" => FirebaseHash::read(text).map(Self::Firebase),
            "argon2i" | "argon2d" | "argon2id" => Argon2Hash::read(text).map(Self::Argon2),
            "P" | "H" => PhpassHash::read(text).map(Self::Phpass),
            name if name.starts_with("pbkdf2") => Pbkdf2Hash::read(text).map(Self::Pbkdf2),
            name if name.starts_with(KdfHash::BEGINS) => KdfHash::read(text).map(Self::Kdf),
            _ => match text.split_once(':') {
                Some((salt, output)) if !output.contains(':') => ScryptHash::read_better_auth(salt, output).map(Self::Scrypt),
                Some(_) => MagentoHash::read(text).map(Self::Magento),
                None => Err(InvalidHash::Unknown),
            },
        }
    }
}

impl HashOfOthers {
    /// Whether it was made of `password`.
    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        match self {
            Self::Bcrypt(hash) => hash.is_of(password),
            Self::Scrypt(hash) => hash.is_of(password),
            Self::Kdf(hash) => hash.is_of(password),
            Self::Firebase(hash) => hash.is_of(password),
            Self::Pbkdf2(hash) => hash.is_of(password),
            Self::Argon2(hash) => hash.is_of(password),
            Self::Phpass(hash) => hash.is_of(password),
            Self::Magento(hash) => hash.is_of(password),
        }
    }

    /// Whether the hash depends on all of `password`: one with another end would be wrong.
    pub(super) fn reads_all_of(&self, password: &[u8]) -> bool {
        if let Self::Bcrypt(hash) = self { hash.reads_all_of(password) } else { true }
    }

    /// Whether a comparison would take too long on this machine. That is judged once, when the hash is imported: a slower machine compares it all the
    /// same.
    pub(super) fn takes_too_long(&self) -> bool {
        matches!(self, Self::Bcrypt(hash) if hash.takes_too_long())
    }
}

/// Decodes base64 as it is, as passlib writes it, with `.` in place of `+`, or as URLs have it.
fn decode(text: &str) -> Result<Vec<u8>, InvalidHash> {
    BASE64.decode(text.replace(['.', '-'], "+").replace('_', "/")).map_err(|_| InvalidHash::Unknown)
}

/// Decodes what comes out of a hash.
fn decode_output(text: &str) -> Result<Vec<u8>, InvalidHash> {
    decode(text).and_then(|output| if OUTPUT.contains(&output.len()) { Ok(output) } else { Err(InvalidHash::Unknown) })
}

/// Whether two secrets are equal, in a time that does not tell where they differ.
fn are_equal(one: Vec<u8>, other: &[u8]) -> bool {
    SecretDigest::from(one).is(other)
}

/// Reads `ln=10,r=8`: the number of one member.
fn member(members: &str, name: &str) -> Option<u32> {
    text_member(members, name)?.parse().ok()
}

/// Reads `ss=Bw==,sk=…`: the text of one member.
fn text_member<'a>(members: &'a str, name: &str) -> Option<&'a str> {
    members.split(',').find_map(|member| member.strip_prefix(name)?.strip_prefix('='))
}
