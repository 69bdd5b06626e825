//! Signatures configured by settings: an HMAC over the body, in hex or base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::gateways::drivers::SignatureError;
use crate::gateways::drivers::hmac::settings::{Algorithm, Encoding, Signature};
use crate::kernel::crypto::{SecretDigest, hmac_sha256, hmac_sha512};

pub fn verify(signature: &Signature, secret: &[u8], header: &str, body: &[u8]) -> Result<(), SignatureError> {
    let encoded = header.strip_prefix(&signature.prefix.0).ok_or(SignatureError::SignatureMalformed)?;
    let given = match signature.encoding {
        Encoding::Hex => hex::decode(encoded).ok(),
        Encoding::Base64 => STANDARD.decode(encoded).ok(),
    };
    let given = given.ok_or(SignatureError::SignatureMalformed)?;
    if mac(signature, secret, body).is(given) { Ok(()) } else { Err(SignatureError::SignatureWrong) }
}

/// The header value that [`verify`] accepts.
pub fn sign(signature: &Signature, secret: &[u8], body: &[u8]) -> String {
    let mac = mac(signature, secret, body);
    let encoded = match signature.encoding {
        Encoding::Hex => hex::encode(mac),
        Encoding::Base64 => STANDARD.encode(mac),
    };
    format!("{}{encoded}", signature.prefix.0)
}

fn mac(signature: &Signature, secret: &[u8], body: &[u8]) -> SecretDigest {
    let parts = [signature.signed.before.as_bytes(), body, signature.signed.after.as_bytes()];
    match signature.algorithm {
        Algorithm::Sha256 => hmac_sha256(secret, &parts),
        Algorithm::Sha512 => hmac_sha512(secret, &parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// RFC 4231, test case 2.
    const SECRET: &[u8] = b"Jefe";
    const BODY: &[u8] = b"what do ya want for nothing?";
    const SHA256: &str = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    const SHA512: &str =
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737";

    fn signature(settings: Value) -> Signature {
        serde_json::from_value(settings).unwrap()
    }

    #[test]
    fn the_vectors_of_the_rfc_are_signatures() {
        let hex = |algorithm: &str, prefix: &str| signature(json!({ "header": "x", "algorithm": algorithm, "prefix": prefix }));
        assert_eq!(verify(&hex("sha256", ""), SECRET, SHA256, BODY), Ok(()));
        assert_eq!(verify(&hex("sha256", ""), SECRET, &SHA256.to_uppercase(), BODY), Ok(()));
        assert_eq!(verify(&hex("sha256", "sha256="), SECRET, &format!("sha256={SHA256}"), BODY), Ok(()));
        assert_eq!(verify(&hex("sha512", ""), SECRET, SHA512, BODY), Ok(()));
        let base64 = signature(json!({ "header": "x", "encoding": "base64" }));
        assert_eq!(verify(&base64, SECRET, "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=", BODY), Ok(()));
        let around = signature(json!({ "header": "x", "signed": "what do {body} for nothing?" }));
        assert_eq!(verify(&around, SECRET, SHA256, b"ya want"), Ok(()));
    }

    #[test]
    fn anything_else_is_none() {
        let plain = signature(json!({ "header": "x" }));
        assert_eq!(verify(&plain, SECRET, SHA256, b"other bytes"), Err(SignatureError::SignatureWrong));
        assert_eq!(verify(&plain, b"other", SHA256, BODY), Err(SignatureError::SignatureWrong));
        for short in ["", "5b", &SHA256[..62]] {
            assert_eq!(verify(&plain, SECRET, short, BODY), Err(SignatureError::SignatureWrong), "{short:?}");
        }
        for malformed in ["x", &format!("sha256={SHA256}"), "W9zBRr9gdU5q="] {
            assert_eq!(verify(&plain, SECRET, malformed, BODY), Err(SignatureError::SignatureMalformed), "{malformed:?}");
        }
        let prefixed = signature(json!({ "header": "x", "prefix": "sha256=" }));
        assert_eq!(verify(&prefixed, SECRET, SHA256, BODY), Err(SignatureError::SignatureMalformed));
    }
}
