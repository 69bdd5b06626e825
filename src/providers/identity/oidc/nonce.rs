//! The nonce of a token, compared with the one that an app sends.
//!
//! Apps pass the provider the nonce itself or, like the samples of some providers, its SHA-256, in hex or base64. A token shows its
//! nonce, so accepting the digest helps no thief.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD_INDIFFERENT;

use crate::kernel::crypto::sha256;

/// Whether the `nonce` of a token is what an app has passed on for this nonce.
pub(super) fn is_of(claim: &str, nonce: &str) -> bool {
    claim == nonce || digest_in(claim).is_some_and(|digest| digest == sha256(nonce))
}

/// The bytes of a digest that is written in hex, or in base64 with either alphabet, padded or not.
fn digest_in(claim: &str) -> Option<Vec<u8>> {
    let in_base64 = || STANDARD_NO_PAD_INDIFFERENT.decode(claim.replace('-', "+").replace('_', "/")).ok();
    hex::decode(claim).ok().or_else(in_base64)
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

    use super::*;

    #[test]
    fn a_nonce_is_passed_on_as_it_is_or_as_a_digest_in_any_spelling() {
        // Its digest has both of the characters in which the alphabets of base64 differ.
        let nonce = (0..).map(|number| format!("nonce {number}")).find(|nonce| {
            let digest = STANDARD.encode(sha256(nonce));
            digest.contains('+') && digest.contains('/')
        });
        let nonce = nonce.unwrap();
        let digest = sha256(&nonce);
        for claim in [
            nonce.clone(),
            hex::encode(digest),
            hex::encode_upper(digest),
            STANDARD.encode(digest),
            STANDARD_NO_PAD.encode(digest),
            URL_SAFE.encode(digest),
            URL_SAFE_NO_PAD.encode(digest),
        ] {
            assert!(is_of(&claim, &nonce), "{claim}");
            assert!(!is_of(&claim, "another"), "{claim}");
        }
        for claim in ["", "=", "nonce", &hex::encode(sha256("another")), &hex::encode(&digest[..31])] {
            assert!(!is_of(claim, &nonce), "{claim}");
        }
        assert!(!is_of(&nonce, &hex::encode(digest)), "the digest is the provider's, not the app's");
    }
}
