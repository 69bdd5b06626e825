//! phpass's portable hashes: WordPress before 6.8 (`$P$`), phpBB (`$H$`). MD5, thousands of times.

use md5::{Digest, Md5};

use crate::kernel::password_hashing::of_others::{InvalidHash, are_equal};

/// Its digits, the smallest first.
const DIGITS: &str = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The logarithm of the rounds; WordPress has 13. Each round reads the password.
const MAX_LOG_ROUNDS: usize = 16;
/// `$P$`, a digit for the rounds and eight characters of salt.
const SETTING_LEN: usize = 12;
/// And 22 digits of hash.
const LEN: usize = SETTING_LEN + 22;

#[derive(Debug)]
pub struct PhpassHash {
    rounds: u32,
    salt: String,
    output: String,
}

impl PhpassHash {
    pub(super) fn read(text: &str) -> Result<Self, InvalidHash> {
        if text.len() != LEN || !text.is_ascii() {
            return Err(InvalidHash::Unknown);
        }
        match DIGITS.find(&text[3..4]) {
            None | Some(0..7) => Err(InvalidHash::Unknown),
            Some(log_rounds) if log_rounds > MAX_LOG_ROUNDS => Err(InvalidHash::TooCostly),
            Some(log_rounds) => {
                let (salt, output) = (text[4..SETTING_LEN].to_owned(), text[SETTING_LEN..].to_owned());
                Ok(Self { rounds: 1 << log_rounds, salt, output })
            }
        }
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let mut digest = Md5::new().chain_update(&self.salt).chain_update(password).finalize();
        for _ in 0..self.rounds {
            digest = Md5::new().chain_update(digest).chain_update(password).finalize();
        }
        are_equal(encode(&digest).into_bytes(), self.output.as_bytes())
    }
}

/// Six bits a digit, the lowest first.
fn encode(bytes: &[u8]) -> String {
    let digit = |value: u32| char::from(DIGITS.as_bytes()[(value & 63) as usize]);
    let of_three = |chunk: &[u8]| {
        let value = chunk.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        (0..=chunk.len()).map(|place| digit(value >> (6 * place))).collect::<Vec<_>>()
    };
    bytes.chunks(3).flat_map(of_three).collect()
}
