//! scrypt: in its usual form, in that of better-auth, in that of `scrypt-kdf`, which Medusa uses, and as Firebase uses it.

use aes::Aes256;
use aes::cipher::{KeyIvInit, StreamCipher};
use ctr::Ctr128BE;
use scrypt::{Params, scrypt};

use crate::kernel::crypto::{hmac_sha256, sha256};
use crate::kernel::password_hashing::of_others::{InvalidHash, are_equal, decode, decode_output, member, text_member};

/// N·r·128 bytes are the memory, 64 MiB at most.
const MAX_MEMORY: u64 = 64 * 1024 * 1024;
/// As many passes through as much memory take about half a second together.
const MAX_WORK: u64 = 2 * MAX_MEMORY;

/// The parameters of better-auth, which its hashes do not name: `N` is 2 to the power of the first. In bytes, its salt and its output.
const BETTER_AUTH: (u32, u32, u32) = (14, 16, 1);
const BETTER_AUTH_LEN: (usize, usize) = (16, 64);

/// `$scrypt$ln=…,r=…,p=…$salt$hash`, or `salt:hash` in hex
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

    /// Reads a hash of better-auth. The salt is its text in hex, not the bytes.
    pub(super) fn read_better_auth(salt: &str, output: &str) -> Result<Self, InvalidHash> {
        let (log_n, r, p) = BETTER_AUTH;
        let lengths = (hex::decode(salt).map_err(|_| InvalidHash::Unknown)?.len(), output.len() / 2);
        let output = hex::decode(output).map_err(|_| InvalidHash::Unknown)?;
        if lengths != BETTER_AUTH_LEN {
            return Err(InvalidHash::Unknown);
        }
        Ok(Self { params: params(Some(log_n), Some(r), Some(p))?, salt: salt.into(), output })
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let mut output = vec![0; self.output.len()];
        scrypt(password, &self.salt, &self.params, &mut output).is_ok() && are_equal(output, &self.output)
    }
}

/// What `scrypt-kdf` makes, in base64: the head of a file that Tarsnap's scrypt has encrypted, with a MAC under half of the derived key.
#[derive(Debug)]
pub struct KdfHash {
    params: Params,
    /// 96 bytes: `scrypt`, a version, the parameters, 32 bytes of salt, 16 of a checksum and 32 of the MAC.
    bytes: Vec<u8>,
}

impl KdfHash {
    /// The beginning in base64: `scrypt`.
    pub(super) const BEGINS: &str = "c2NyeXB0";

    pub(super) fn read(text: &str) -> Result<Self, InvalidHash> {
        let bytes = decode(text)?;
        if bytes.len() != 96 || !bytes.starts_with(b"scrypt\0") || sha256(&bytes[..48])[..16] != bytes[48..64] {
            return Err(InvalidHash::Unknown);
        }
        let number = |at: usize| bytes[at..at + 4].iter().fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
        let params = params(Some(bytes[7].into()), Some(number(8)), Some(number(12)))?;
        Ok(Self { params, bytes })
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let (head, mac) = self.bytes.split_at(64);
        let mut key = [0; 64];
        scrypt(password, &head[16..48], &self.params, &mut key).is_ok() && hmac_sha256(&key[32..], &[head]).is(mac)
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
