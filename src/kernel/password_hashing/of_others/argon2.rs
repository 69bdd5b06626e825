//! Argon2 with any of its variants, versions and output lengths.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, Version};

use crate::kernel::password_hashing::of_others::{InvalidHash, OUTPUT, are_equal};

/// In KiB: 64 MiB.
pub(super) const MAX_MEMORY: u32 = 64 * 1024;
/// KiB times passes: about a quarter of a second.
pub(super) const MAX_WORK: u32 = 4 * MAX_MEMORY;

#[derive(Debug)]
pub struct Argon2Hash {
    algorithm: Algorithm,
    version: Version,
    params: Params,
    salt: Vec<u8>,
    output: Vec<u8>,
}

impl Argon2Hash {
    pub(super) fn read(text: &str) -> Result<Self, InvalidHash> {
        let hash = PasswordHash::new(text).map_err(|_| InvalidHash::Unknown)?;
        let algorithm = Algorithm::try_from(hash.algorithm.as_str()).map_err(|_| InvalidHash::Unknown)?;
        // Without a version it is the first one.
        let version = hash.version.map_or(Ok(Version::V0x10), Version::try_from).map_err(|_| InvalidHash::Unknown)?;
        let params = Params::try_from(&hash).map_err(|_| InvalidHash::Unknown)?;
        let (Some(salt), Some(output)) = (hash.salt, hash.hash) else { return Err(InvalidHash::Unknown) };
        let (salt, output) = (salt.as_ref().to_vec(), output.as_ref().to_vec());
        if !OUTPUT.contains(&output.len()) {
            return Err(InvalidHash::Unknown);
        }
        if params.m_cost() > MAX_MEMORY || params.m_cost().saturating_mul(params.t_cost()) > MAX_WORK {
            return Err(InvalidHash::TooCostly);
        }
        Ok(Self { algorithm, version, params, salt, output })
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let mut output = vec![0; self.output.len()];
        let argon2 = Argon2::new(self.algorithm, self.version, self.params.clone());
        let hashed = argon2.hash_password_into(password, &self.salt, &mut output);
        hashed.is_ok() && are_equal(output, &self.output)
    }
}
