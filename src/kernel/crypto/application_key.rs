//! The application key and its uses: keyed digests of codes, encryption of secrets at rest.
//!
//! While the key is being replaced there are several. One of them seals and makes digests; all of them open, and recognise digests.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{SecretSlice, SecretString};

use crate::kernel::crypto::master_key::{Fingerprint, MasterKey};
use crate::kernel::crypto::{SecretDigest, random_bytes};

/// The deployment's key, with those that it replaces or that will replace it.
#[derive(Clone)]
pub struct ApplicationKey {
    current: Arc<MasterKey>,
    previous: Arc<[MasterKey]>,
}

/// The configured application key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the application key must be base64 of at least 32 random bytes (generate one with: openssl rand -base64 32)")]
pub struct InvalidApplicationKey;

/// A sealed secret could not be opened: it is corrupted, belongs to another row, is for another destination, or the application key has changed.
#[derive(Debug, thiserror::Error)]
#[error("a stored secret cannot be decrypted with this application key")]
pub struct CannotOpen;

impl ApplicationKey {
    /// Parses the setting: base64 of at least 32 bytes.
    pub fn parse(setting: &SecretString) -> Result<Self, InvalidApplicationKey> {
        Ok(Self { current: Arc::new(MasterKey::parse(setting)?), previous: Arc::default() })
    }

    /// The same key, which opens what these keys have sealed as well.
    pub fn with_previous(self, settings: &[SecretString]) -> Result<Self, InvalidApplicationKey> {
        let previous = settings.iter().map(MasterKey::parse).collect::<Result<Vec<_>, _>>()?;
        let previous = previous.into_iter().filter(|key| key.fingerprint != self.current.fingerprint).collect();
        Ok(Self { previous, ..self })
    }

    /// Generates a new key in the format of the setting.
    pub fn generate() -> SecretString {
        STANDARD.encode(random_bytes::<32>()).into()
    }

    /// The key that seals.
    pub fn fingerprint(&self) -> Fingerprint {
        self.current.fingerprint
    }

    /// The keys that only open.
    pub fn previous(&self) -> impl Iterator<Item = Fingerprint> {
        self.previous.iter().map(|key| key.fingerprint)
    }

    /// HMAC-SHA256 of `message` under the key derived for `purpose`.
    pub fn mac(&self, purpose: &str, message: &[u8]) -> SecretDigest {
        self.current.mac(purpose, message)
    }

    /// The same under each of the keys: what may have been stored before the key was replaced.
    pub fn macs(&self, purpose: &str, message: &[u8]) -> impl Iterator<Item = SecretDigest> {
        self.keys().map(move |key| key.mac(purpose, message))
    }

    /// Encrypts `secret` for the row named by `context`. The result cannot be opened with another context. The context of a secret that is sent
    /// to an address of its row has that as well: [`Destination::context`](crate::kernel::crypto::Destination::context).
    pub fn seal(&self, context: &str, secret: &[u8]) -> Vec<u8> {
        self.current.seal(context, secret)
    }

    /// Decrypts the output of [`ApplicationKey::seal`] for the same `context`.
    pub fn open(&self, context: &str, sealed: &[u8]) -> Result<SecretSlice<u8>, CannotOpen> {
        self.open_with(context, sealed).map(|(_, secret)| secret)
    }

    /// The same, and the key that the secret is sealed with.
    pub fn open_with(&self, context: &str, sealed: &[u8]) -> Result<(Fingerprint, SecretSlice<u8>), CannotOpen> {
        let named = Fingerprint::of_sealed(sealed);
        let (its_own, others): (Vec<_>, Vec<_>) = self.keys().partition(|key| Some(key.fingerprint) == named);
        let mut opened = its_own.into_iter().chain(others).filter_map(|key| Some((key.fingerprint, key.open(context, sealed)?)));
        opened.next().ok_or(CannotOpen)
    }

    fn keys(&self) -> impl Iterator<Item = &MasterKey> {
        std::iter::once(&*self.current).chain(self.previous.iter())
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
    use chacha20poly1305::aead::{Aead, KeyInit, Payload};
    use chacha20poly1305::{XChaCha20Poly1305, XNonce};
    use hkdf::Hkdf;
    use secrecy::ExposeSecret;
    use sha2::Sha256;

    fn key() -> (SecretString, ApplicationKey) {
        let setting = ApplicationKey::generate();
        let key = ApplicationKey::parse(&setting).unwrap();
        (setting, key)
    }

    #[test]
    fn a_sealed_secret_opens_only_in_its_own_row_and_under_its_own_key() {
        let (_, key) = key();
        let sealed = key.seal("row 1", b"whsec_x");
        assert_eq!(key.open("row 1", &sealed).unwrap().expose_secret(), b"whsec_x");
        assert!(key.open("row 2", &sealed).is_err());
        assert!(key.open("row 1", &sealed[..20]).is_err());
        assert!(super::tests::key().1.open("row 1", &sealed).is_err());
        assert_ne!(sealed, key.seal("row 1", b"whsec_x"));
    }

    #[test]
    fn what_a_previous_key_has_sealed_is_opened_and_says_which() {
        let ((old, before), (_, after)) = (key(), key());
        let after = after.with_previous(std::slice::from_ref(&old)).unwrap();
        let sealed = before.seal("row 1", b"whsec_x");
        assert_eq!(Fingerprint::of_sealed(&sealed), Some(before.fingerprint()));
        let (fingerprint, opened) = after.open_with("row 1", &sealed).unwrap();
        assert_eq!((fingerprint, opened.expose_secret()), (before.fingerprint(), &b"whsec_x"[..]));
        assert_eq!(Fingerprint::of_sealed(&after.seal("row 1", b"whsec_x")), Some(after.fingerprint()));
        assert!(before.open("row 1", &after.seal("row 1", b"whsec_x")).is_err());
        let digest = before.mac("codes", b"123456");
        assert!(!after.mac("codes", b"123456").is(&digest) && after.macs("codes", b"123456").any(|mac| mac.is(&digest)));
        assert_eq!(before.clone().with_previous(&[old]).unwrap().previous().count(), 0, "a key is not its own predecessor");
    }

    /// The edition before knows no fingerprints: it takes 24 random bytes, and tries its only key.
    #[test]
    fn the_edition_before_opens_what_is_sealed_and_its_values_are_opened() {
        let (setting, key) = key();
        let mut derived = [0; 32];
        let bytes = STANDARD.decode(setting.expose_secret()).unwrap();
        Hkdf::<Sha256>::new(Some(b"portico"), &bytes).expand(b"secrets at rest", &mut derived).unwrap();
        let cipher = XChaCha20Poly1305::new(&derived.into());
        let payload = |msg| Payload { msg, aad: b"row 1" };
        let sealed = key.seal("row 1", b"whsec_x");
        let nonce: [u8; 24] = sealed[..24].try_into().unwrap();
        assert_eq!(cipher.decrypt(&XNonce::from(nonce), payload(&sealed[24..])).unwrap(), b"whsec_x");

        let nonce = random_bytes::<24>();
        let older = [&nonce[..], &cipher.encrypt(&XNonce::from(nonce), payload(b"whsec_y")).unwrap()].concat();
        let (fingerprint, opened) = super::tests::key().1.with_previous(&[setting]).unwrap().open_with("row 1", &older).unwrap();
        assert_eq!((fingerprint, opened.expose_secret()), (key.fingerprint(), &b"whsec_y"[..]));
    }

    #[test]
    fn a_short_application_key_is_refused() {
        assert!(ApplicationKey::parse(&"c2hvcnQ=".into()).is_err());
        assert!(ApplicationKey::parse(&"not base64!".into()).is_err());
        assert!(key().1.with_previous(&["c2hvcnQ=".into()]).is_err());
    }
}
