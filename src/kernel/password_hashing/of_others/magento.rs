//! Magento 2: `hash:salt:version`. A hash that was upgraded has several versions, and each has hashed what the one before made.

use argon2::{Algorithm, Argon2, Params, Version};
use md5::{Digest, Md5};

use crate::kernel::crypto::sha256;
use crate::kernel::password_hashing::of_others::argon2::{MAX_MEMORY, MAX_WORK};
use crate::kernel::password_hashing::of_others::{InvalidHash, OUTPUT, are_equal};

/// What libsodium calls interactive: bytes, passes and KiB.
const INTERACTIVE: (usize, u32, u32) = (32, 2, 64 * 1024);
/// In bytes: what libsodium takes as a salt.
const SALT_LEN: usize = 16;
/// Upgrades that one hash may have seen.
const MAX_STEPS: usize = 4;

#[derive(Debug)]
pub struct MagentoHash {
    steps: Vec<Step>,
    salt: String,
    /// In hex.
    output: String,
}

#[derive(Debug)]
enum Step {
    Md5,
    Sha256,
    Argon2(Params),
}

impl MagentoHash {
    pub(super) fn read(text: &str) -> Result<Self, InvalidHash> {
        let mut parts = text.split(':');
        let (Some(output), Some(salt)) = (parts.next(), parts.next()) else { return Err(InvalidHash::Unknown) };
        let steps: Vec<_> = parts.map(Step::read).collect::<Result<_, _>>()?;
        let is_hex = output.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_whole = steps.last().is_some_and(|last| last.output_len() * 2 == output.len());
        let is_salt = !salt.is_empty() && salt.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_hex || !is_whole || !is_salt || steps.len() > MAX_STEPS {
            return Err(InvalidHash::Unknown);
        }
        match steps.iter().map(Step::work).fold(0, u32::saturating_add) {
            // Nothing but MD5 and SHA-256, which are made to be fast.
            0 => Err(InvalidHash::TooWeak),
            1..=MAX_WORK => Ok(Self { steps, salt: salt.to_owned(), output: output.to_owned() }),
            _ => Err(InvalidHash::TooCostly),
        }
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let hashed = self.steps.iter().try_fold(password.to_vec(), |data, step| step.hash(&data, &self.salt).map(String::into_bytes));
        hashed.is_some_and(|hashed| are_equal(hashed, self.output.as_bytes()))
    }
}

impl Step {
    fn read(version: &str) -> Result<Self, InvalidHash> {
        let argon2 = |(len, passes, memory): (usize, u32, u32)| {
            if !OUTPUT.contains(&len) {
                return Err(InvalidHash::Unknown);
            }
            if memory > MAX_MEMORY {
                return Err(InvalidHash::TooCostly);
            }
            Params::new(memory, passes, 1, Some(len)).map(Self::Argon2).map_err(|_| InvalidHash::Unknown)
        };
        match version.split('_').collect::<Vec<_>>()[..] {
            ["0"] => Ok(Self::Md5),
            ["1"] => Ok(Self::Sha256),
            ["2"] => argon2(INTERACTIVE),
            ["3", len, passes, bytes] => match (len.parse(), passes.parse(), bytes.parse::<u32>()) {
                (Ok(len), Ok(passes), Ok(bytes)) => argon2((len, passes, bytes / 1024)),
                _ => Err(InvalidHash::Unknown),
            },
            _ => Err(InvalidHash::Unknown),
        }
    }

    /// In bytes.
    fn output_len(&self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha256 => 32,
            Self::Argon2(params) => params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN),
        }
    }

    /// KiB times passes.
    fn work(&self) -> u32 {
        match self {
            Self::Md5 | Self::Sha256 => 0,
            Self::Argon2(params) => params.m_cost().saturating_mul(params.t_cost()),
        }
    }

    /// In hex, as the next step reads it.
    fn hash(&self, data: &[u8], salt: &str) -> Option<String> {
        match self {
            Self::Md5 => Some(hex::encode(Md5::new().chain_update(salt).chain_update(data).finalize())),
            Self::Sha256 => Some(hex::encode(sha256([salt.as_bytes(), data].concat()))),
            Self::Argon2(params) => {
                let salt: Vec<_> = salt.bytes().cycle().take(SALT_LEN).collect();
                let mut output = vec![0; self.output_len()];
                let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
                argon2.hash_password_into(data, &salt, &mut output).ok()?;
                Some(hex::encode(output))
            }
        }
    }
}
