//! The application key and its uses: keyed digests of codes, encryption of secrets at rest.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::Sha256;

use crate::kernel::crypto::{SecretDigest, hmac_sha256, random_bytes};

const NONCE_LEN: usize = 24;

/// The deployment's master key. Each purpose uses its own derived key.
#[derive(Clone)]
pub struct ApplicationKey(SecretSlice<u8>);

/// The configured application key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the application key must be base64 of at least 32 random bytes (generate one with: openssl rand -base64 32)")]
pub struct InvalidApplicationKey;

/// A sealed secret could not be opened: it is corrupted, belongs to another row, or the application key has changed.
#[derive(Debug, thiserror::Error)]
#[error("a stored secret cannot be decrypted with this application key")]
pub struct CannotOpen;

impl ApplicationKey {
    /// Parses the setting: base64 of at least 32 bytes.
    pub fn parse(setting: &SecretString) -> Result<Self, InvalidApplicationKey> {
        let bytes = STANDARD.decode(setting.expose_secret().trim()).map_err(|_| InvalidApplicationKey)?;
        if bytes.len() < 32 {
            return Err(InvalidApplicationKey);
        }
        Ok(Self(bytes.into()))
    }

    /// Generates a new key in the format of the setting.
    pub fn generate() -> SecretString {
        STANDARD.encode(random_bytes::<32>()).into()
    }

    fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut key = [0; 32];
        Hkdf::<Sha256>::new(Some(b"portico"), self.0.expose_secret())
            .expand(purpose.as_bytes(), &mut key)
            .expect("32 bytes are within the output limit of HKDF-SHA256");
        key
    }

    /// HMAC-SHA256 of `message` under the key derived for `purpose`.
    pub fn mac(&self, purpose: &str, message: &[u8]) -> SecretDigest {
        hmac_sha256(&self.derive(purpose), &[message])
    }

    /// Encrypts `secret` for the row named by `context`. The result cannot be opened with another context.
    pub fn seal(&self, context: &str, secret: &[u8]) -> Vec<u8> {
        let nonce = random_bytes::<NONCE_LEN>();
        let payload = Payload { msg: secret, aad: context.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).expect("secrets are far shorter than the cipher's limit");
        [nonce.as_slice(), &sealed].concat()
    }

    /// Decrypts the output of [`ApplicationKey::seal`] for the same `context`.
    pub fn open(&self, context: &str, sealed: &[u8]) -> Result<SecretSlice<u8>, CannotOpen> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN).ok_or(CannotOpen)?;
        let nonce: [u8; NONCE_LEN] = nonce.try_into().map_err(|_| CannotOpen)?;
        let payload = Payload { msg: sealed, aad: context.as_bytes() };
        self.cipher().decrypt(&XNonce::from(nonce), payload).map(Into::into).map_err(|_| CannotOpen)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.derive("secrets at rest").into())
    }
}

impl std::fmt::Debug for ApplicationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApplicationKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_opens_only_in_its_own_row_and_under_its_own_key() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let sealed = key.seal("row 1", b"whsec_x");
        assert_eq!(key.open("row 1", &sealed).unwrap().expose_secret(), b"whsec_x");
        assert!(key.open("row 2", &sealed).is_err());
        assert!(key.open("row 1", &sealed[..20]).is_err());
        assert!(ApplicationKey::parse(&ApplicationKey::generate()).unwrap().open("row 1", &sealed).is_err());
    }

    #[test]
    fn a_short_application_key_is_refused() {
        assert!(ApplicationKey::parse(&"c2hvcnQ=".into()).is_err());
        assert!(ApplicationKey::parse(&"not base64!".into()).is_err());
    }
}
