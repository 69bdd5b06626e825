//! scrypt: in its usual form, and as Firebase uses it.

use aes::Aes256;
use aes::cipher::{KeyIvInit, StreamCipher};
use ctr::Ctr128BE;
use scrypt::{Params, scrypt};

use crate::kernel::password_hashing::of_others::{InvalidHash, are_equal, decode, decode_output, member, text_member};

/// N·r·128 bytes are the memory, 64 MiB at most.
const MAX_MEMORY: u64 = 64 * 1024 * 1024;
/// As many passes through as much memory take about half a second together.
const MAX_WORK: u64 = 2 * MAX_MEMORY;

/// `$scrypt$ln=…,r=…,p=…$salt$hash`
#[derive(Debug)]
pub struct ScryptHash {
    params: Params,
    salt: Vec<u8>,
    output: Vec<u8>,
}

impl ScryptHash {
    pub(super) fn read(text: &str) -> Result<Self, InvalidHash> {
        let ["", "scrypt", members, salt, output] = text.split('$').collect::<Vec<_>>()[..] else { return Err(InvalidHash::Unknown) };
        let params = params(member(members, "ln"), member(members, "r"), member(members, "p"))?;
        Ok(Self { params, salt: decode(salt)?, output: decode_output(output)? })
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let mut output = vec![0; self.output.len()];
        scrypt(password, &self.salt, &self.params, &mut output).is_ok() && are_equal(output, &self.output)
    }
}

/// `$fbscrypt$v=1,n=…,r=…,p=1,ss=…,sk=…$salt$hash`, the form in which other services take the users of Firebase: `n` is its `mem_cost`, `r` its
/// `rounds`, `ss` its `base64_salt_separator`, `sk` its `base64_signer_key`.
pub struct FirebaseHash {
    params: Params,
    salt: Vec<u8>,
    signer_key: Vec<u8>,
    output: Vec<u8>,
}

impl std::fmt::Debug for FirebaseHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FirebaseHash(…)")
    }
}

impl FirebaseHash {
    pub(super) fn read(text: &str) -> Result<Self, InvalidHash> {
        let ["", "fbscrypt", members, salt, output] = text.split('$').collect::<Vec<_>>()[..] else { return Err(InvalidHash::Unknown) };
        let params = params(member(members, "n"), member(members, "r"), Some(member(members, "p").unwrap_or(1)))?;
        let secret = |name| text_member(members, name).ok_or(InvalidHash::Unknown);
        let salt = [decode(salt)?, decode(secret("ss")?)?].concat();
        let (signer_key, output) = (decode_output(secret("sk")?)?, decode_output(output)?);
        Ok(Self { params, salt, signer_key, output })
    }

    /// The password makes a key, and the hash is the signer key encrypted under it.
    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let mut key = [0; 32];
        if scrypt(password, &self.salt, &self.params, &mut key).is_err() {
            return false;
        }
        let mut output = self.signer_key.clone();
        Ctr128BE::<Aes256>::new(&key.into(), &[0; 16].into()).apply_keystream(&mut output);
        are_equal(output, &self.output)
    }
}

fn params(log_n: Option<u32>, r: Option<u32>, p: Option<u32>) -> Result<Params, InvalidHash> {
    let (Some(log_n @ 1..=30), Some(r @ 1..=64), Some(p @ 1..=64)) = (log_n, r, p) else { return Err(InvalidHash::Unknown) };
    let memory = (1 << log_n) * u64::from(r) * 128;
    if memory > MAX_MEMORY || memory * u64::from(p) > MAX_WORK {
        return Err(InvalidHash::TooCostly);
    }
    let log_n = u8::try_from(log_n).map_err(|_| InvalidHash::Unknown)?;
    Params::new(log_n, r, p).map_err(|_| InvalidHash::Unknown)
}
