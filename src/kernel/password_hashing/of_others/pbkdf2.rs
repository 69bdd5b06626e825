//! PBKDF2: as Django writes it (`pbkdf2_sha256$600000$salt$hash`), in the PHC form (`$pbkdf2-sha256$i=600000$salt$hash`) and as passlib does
//! (`$pbkdf2-sha256$29000$salt$hash`).

use sha1::Sha1;
use sha2::{Sha256, Sha512};

use crate::kernel::password_hashing::of_others::{InvalidHash, are_equal, decode, decode_output, member};

/// Django 6 has 1,200,000. They take about half a second, and so do half as many of SHA-512.
const MAX_ROUNDS: u64 = 1_500_000;

#[derive(Clone, Copy, Debug)]
enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

#[derive(Debug)]
pub struct Pbkdf2Hash {
    digest: Digest,
    rounds: u32,
    salt: Vec<u8>,
    output: Vec<u8>,
}

impl Pbkdf2Hash {
    pub(super) fn read(text: &str) -> Result<Self, InvalidHash> {
        let (name, rounds, salt, output) = match text.split('$').collect::<Vec<_>>()[..] {
            // Django's salt is text.
            [name @ ("pbkdf2_sha256" | "pbkdf2_sha1"), rounds, salt, output] => (name, rounds.parse().ok(), salt.into(), output),
            ["", name, members, salt, output] => (name, member(members, "i").or_else(|| members.parse().ok()), decode(salt)?, output),
            _ => return Err(InvalidHash::Unknown),
        };
        let digest = match name {
            "pbkdf2_sha1" | "pbkdf2-sha1" | "pbkdf2" => Digest::Sha1,
            "pbkdf2_sha256" | "pbkdf2-sha256" => Digest::Sha256,
            "pbkdf2-sha512" => Digest::Sha512,
            _ => return Err(InvalidHash::Unknown),
        };
        let Some(rounds @ 1..) = rounds else { return Err(InvalidHash::Unknown) };
        let output = decode_output(output)?;
        // Each block of output takes all rounds again.
        let blocks = output.len().div_ceil(digest.len()) as u64;
        match blocks * u64::from(rounds) * digest.weight() {
            0..=MAX_ROUNDS => Ok(Self { digest, rounds, salt, output }),
            _ => Err(InvalidHash::TooCostly),
        }
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let mut output = vec![0; self.output.len()];
        let derive = match self.digest {
            Digest::Sha1 => pbkdf2::pbkdf2_hmac::<Sha1>,
            Digest::Sha256 => pbkdf2::pbkdf2_hmac::<Sha256>,
            Digest::Sha512 => pbkdf2::pbkdf2_hmac::<Sha512>,
        };
        derive(password, &self.salt, self.rounds, &mut output);
        are_equal(output, &self.output)
    }
}

impl Digest {
    /// In bytes.
    fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// What a round takes, in rounds of SHA-256.
    fn weight(self) -> u64 {
        match self {
            Self::Sha1 | Self::Sha256 => 1,
            Self::Sha512 => 2,
        }
    }
}
