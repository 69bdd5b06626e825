//! The secret of a send-message hook, in the form of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::standard_key;

/// Bytes of the key, as Standard Webhooks recommends.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret that an endpoint verifies messages with.
#[derive(Clone, Debug)]
pub struct HookSecret(SecretString);

/// The text is no such secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be whsec_ and the base64 of 24 to 64 random bytes")]
pub struct InvalidHookSecret;

impl HookSecret {
    /// Parses a secret.
    pub fn parse(text: &SecretString) -> Result<Self, InvalidHookSecret> {
        match standard_key(text.expose_secret()) {
            Some(key) if LENGTHS.contains(&key.len()) => Ok(Self(text.clone())),
            _ => Err(InvalidHookSecret),
        }
    }

    pub(super) fn decoded(&self) -> Vec<u8> {
        standard_key(self.0.expose_secret()).expect("it was decoded when it was parsed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::crypto::standard_secret;

    #[test]
    fn a_secret_that_could_be_guessed_is_refused() {
        let parse = |bytes: usize| HookSecret::parse(&standard_secret(&vec![7; bytes]).into());
        assert_eq!(parse(24).unwrap().decoded(), [7; 24]);
        assert!(parse(64).is_ok());
        assert!(parse(23).is_err() && parse(65).is_err() && parse(0).is_err());
        for text in ["", "whsec_", "whsec_?", "s3cret-of-a-reasonable-length-that-is-not-base64"] {
            assert_eq!(HookSecret::parse(&text.into()).unwrap_err(), InvalidHookSecret, "{text:?}");
        }
    }
}
