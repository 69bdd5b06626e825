//! What the authenticator says and signs (WebAuthn, section 6.1).

use coset::cbor::de::from_reader;
use coset::cbor::value::Value;

use crate::kernel::crypto::sha256;
use crate::storefront::passkeys::Flaw;

const USER_PRESENT: u8 = 1 << 0;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// The longest id of a credential, in bytes (section 7.1, step 25).
const LONGEST_ID: usize = 1_023;
/// The longest key, in bytes. An RSA key of 8,192 bits has half of it.
const LONGEST_KEY: usize = 2_048;

/// What an authenticator says, for the domain of the store, with somebody present whom it has verified.
#[derive(Debug)]
pub(super) struct AuthenticatorData {
    pub(super) counter: u32,
    /// Whether the credential may be on several devices.
    pub(super) backup_eligible: bool,
    /// Whether it is.
    pub(super) backed_up: bool,
    pub(super) credential: Option<AttestedCredential>,
}

/// A credential that was just made.
#[derive(Debug)]
pub(super) struct AttestedCredential {
    pub(super) id: Vec<u8>,
    /// COSE_Key.
    pub(super) public_key: Vec<u8>,
}

impl AuthenticatorData {
    pub(super) fn read(bytes: &[u8], domain: &str) -> Result<Self, Flaw> {
        let (domain_hash, rest) = bytes.split_first_chunk::<32>().ok_or(Flaw::AuthenticatorData)?;
        let (&[flags], rest) = rest.split_first_chunk().ok_or(Flaw::AuthenticatorData)?;
        let (counter, mut rest) = rest.split_first_chunk().ok_or(Flaw::AuthenticatorData)?;
        let has = |flag: u8| flags & flag != 0;
        if *domain_hash != sha256(domain) {
            return Err(Flaw::Domain);
        }
        if !has(USER_PRESENT) {
            return Err(Flaw::NotPresent);
        }
        if !has(USER_VERIFIED) {
            return Err(Flaw::NotVerified);
        }
        if has(BACKED_UP) && !has(BACKUP_ELIGIBLE) {
            return Err(Flaw::AuthenticatorData);
        }
        let credential = has(HAS_CREDENTIAL).then(|| AttestedCredential::read(&mut rest)).transpose()?;
        if has(HAS_EXTENSIONS) && !matches!(from_reader(&mut rest), Ok(Value::Map(_))) || !rest.is_empty() {
            return Err(Flaw::AuthenticatorData);
        }
        let counter = u32::from_be_bytes(*counter);
        Ok(Self { counter, backup_eligible: has(BACKUP_ELIGIBLE), backed_up: has(BACKED_UP), credential })
    }
}

impl AttestedCredential {
    /// Reads the model of the authenticator, which is not kept, the id, and the key, whose end only its CBOR tells.
    fn read(bytes: &mut &[u8]) -> Result<Self, Flaw> {
        let (_model, rest) = bytes.split_first_chunk::<16>().ok_or(Flaw::AuthenticatorData)?;
        let (length, rest) = rest.split_first_chunk().ok_or(Flaw::AuthenticatorData)?;
        let (id, key_and_more) = rest.split_at_checked(u16::from_be_bytes(*length).into()).ok_or(Flaw::AuthenticatorData)?;
        *bytes = key_and_more;
        let _: Value = from_reader(&mut *bytes).map_err(|_| Flaw::AuthenticatorData)?;
        let public_key = &key_and_more[..key_and_more.len() - bytes.len()];
        if id.is_empty() || id.len() > LONGEST_ID || public_key.len() > LONGEST_KEY {
            return Err(Flaw::AuthenticatorData);
        }
        Ok(Self { id: id.to_vec(), public_key: public_key.to_vec() })
    }
}
