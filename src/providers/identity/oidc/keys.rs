//! The public keys of a provider. Each is pinned to one signature algorithm.

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;
use serde_json::Value;

use crate::providers::identity::Flaw;
use crate::providers::identity::oidc::claims::Claims;

/// The most keys of a set that are read, above those of any provider. Companies name key sets too.
const MAX_KEYS: usize = 100;

/// A published key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    id: String,
    algorithm: Algorithm,
    decoding: DecodingKey,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// Reads the keys of a JWK set that can verify identity tokens: RS256 and ES256, with an id. Other keys are skipped, so that a
/// provider can publish keys of unknown kinds. Returns `None` if the document is no JWK set or has no usable key.
pub(super) fn read_keys(document: &[u8]) -> Option<Vec<Key>> {
    let set: KeySet = serde_json::from_slice(document).ok()?;
    let keys: Vec<_> = set.keys.into_iter().filter_map(Key::read).take(MAX_KEYS).collect();
    (!keys.is_empty()).then_some(keys)
}

impl Key {
    fn read(document: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(document).ok()?;
        let signs = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
        let algorithm = match (&jwk.algorithm, jwk.common.key_algorithm) {
            (AlgorithmParameters::RSA(_), None | Some(KeyAlgorithm::RS256)) => Algorithm::RS256,
            (AlgorithmParameters::EllipticCurve(key), None | Some(KeyAlgorithm::ES256)) if key.curve == EllipticCurve::P256 => {
                Algorithm::ES256
            }
            _ => return None,
        };
        let decoding = DecodingKey::from_jwk(&jwk).ok().filter(|_| signs)?;
        Some(Self { id: jwk.common.key_id?, algorithm, decoding })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Verifies the signature of a token and returns its claims. The caller must still check them with [`Claims::judge`].
    pub(super) fn open(&self, token: &str) -> Result<Claims, Flaw> {
        let mut signature_alone = Validation::new(self.algorithm);
        signature_alone.required_spec_claims.clear();
        // The library reads the system clock and accepts any one of several audiences. [`Claims::judge`] checks time and audience
        // instead.
        signature_alone.validate_exp = false;
        signature_alone.validate_aud = false;
        decode(token, &self.decoding, &signature_alone).map(|opened| opened.claims).map_err(|error| match error.kind() {
            ErrorKind::InvalidAlgorithm => Flaw::Algorithm,
            ErrorKind::InvalidSignature => Flaw::Signature,
            _ => Flaw::Malformed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn algorithms(keys: Value) -> Option<Vec<Algorithm>> {
        let keys = read_keys(json!({ "keys": keys }).to_string().as_bytes())?;
        Some(keys.iter().map(|key| key.algorithm).collect())
    }

    #[test]
    fn a_key_has_one_algorithm_and_unsupported_keys_are_skipped() {
        let rsa = json!({ "kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "n": "AQAB", "e": "AQAB" });
        let ec = json!({ "kty": "EC", "kid": "2", "crv": "P-256", "x": "AQAB", "y": "AQAB" });
        let with = |key: &Value, member: &str, value: Value| {
            let mut key = key.clone();
            key[member] = value;
            key
        };
        let unusable = [
            json!({ "kty": "oct", "kid": "3", "k": "c2VjcmV0" }),
            json!({ "kty": "OKP", "kid": "3", "crv": "Ed25519", "x": "AQAB" }),
            json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
            with(&rsa, "use", json!("enc")),
            with(&rsa, "alg", json!("RS512")),
            with(&rsa, "alg", json!("HS256")),
            with(&rsa, "alg", json!("none")),
            with(&rsa, "n", json!("not base64!")),
            with(&ec, "crv", json!("P-384")),
            with(&ec, "alg", json!("RS256")),
            json!("a key"),
        ];
        for key in &unusable {
            assert_eq!(algorithms(json!([key])), None, "{key}");
            assert_eq!(algorithms(json!([key, rsa, ec])), Some(vec![Algorithm::RS256, Algorithm::ES256]), "{key}");
        }
    }

    #[test]
    fn an_invalid_key_set_has_no_keys() {
        for document in ["", "<html>", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[]}"#] {
            assert!(read_keys(document.as_bytes()).is_none(), "{document}");
        }
    }
}
