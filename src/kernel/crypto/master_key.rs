//! One master key, and what is derived from it.
//!
//! A sealed value is a nonce of 24 bytes and the ciphertext behind it. The first eight bytes of the nonce are the [`Fingerprint`] of the key,
//! and the other sixteen are random, which are enough never to repeat. So a value says which key opens it, and has the form that it always
//! had: whoever reads the nonce as one random number opens it as before. The nonces of values from before there were fingerprints are random
//! from the first byte on, and name no key.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::Sha256;

use crate::kernel::crypto::{InvalidApplicationKey, SecretDigest, hmac_sha256, random_bytes};

const NONCE_LEN: usize = 24;
const FINGERPRINT_LEN: usize = 8;

/// What a key is called in stored values, in the manifest of a backup and to people. It tells nothing about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; FINGERPRINT_LEN]);

impl Fingerprint {
    /// What the nonce of a sealed value begins with. It names no key if the value is from before there were fingerprints.
    pub fn of_sealed(sealed: &[u8]) -> Option<Self> {
        sealed.first_chunk().copied().map(Self)
    }

    /// One that was stored; `None` if these bytes are none.
    pub fn stored(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes, for storing.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// The bytes of one key. Each purpose uses its own derived key.
pub(super) struct MasterKey {
    bytes: SecretSlice<u8>,
    pub(super) fingerprint: Fingerprint,
}

impl MasterKey {
    /// Parses the setting: base64 of at least 32 bytes.
    pub(super) fn parse(setting: &SecretString) -> Result<Self, InvalidApplicationKey> {
        let bytes = STANDARD.decode(setting.expose_secret().trim()).map_err(|_| InvalidApplicationKey)?;
        if bytes.len() < 32 {
            return Err(InvalidApplicationKey);
        }
        let fingerprint = Fingerprint(derive(&bytes, "fingerprint"));
        Ok(Self { bytes: bytes.into(), fingerprint })
    }

    pub(super) fn mac(&self, purpose: &str, message: &[u8]) -> SecretDigest {
        hmac_sha256(&derive::<32>(self.bytes.expose_secret(), purpose), &[message])
    }

    pub(super) fn seal(&self, context: &str, secret: &[u8]) -> Vec<u8> {
        let mut nonce = random_bytes::<NONCE_LEN>();
        nonce[..FINGERPRINT_LEN].copy_from_slice(self.fingerprint.bytes());
        let payload = Payload { msg: secret, aad: context.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).expect("secrets are far shorter than the cipher's limit");
        [nonce.as_slice(), &sealed].concat()
    }

    /// `None` if the value was sealed with another key or for another context.
    pub(super) fn open(&self, context: &str, sealed: &[u8]) -> Option<SecretSlice<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let payload = Payload { msg: sealed, aad: context.as_bytes() };
        self.cipher().decrypt(&XNonce::from(*nonce), payload).ok().map(Into::into)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&derive::<32>(self.bytes.expose_secret(), "secrets at rest").into())
    }
}

fn derive<const N: usize>(key: &[u8], purpose: &str) -> [u8; N] {
    let mut derived = [0; N];
    Hkdf::<Sha256>::new(Some(b"portico"), key)
        .expand(purpose.as_bytes(), &mut derived)
        .expect("so few bytes are within the output limit of HKDF-SHA256");
    derived
}
