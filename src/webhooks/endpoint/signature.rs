//! Signatures that let a subscriber verify that a delivery is authentic and unchanged.
//!
//! Every delivery is signed in two ways (`docs/specification/decisions.md`, section 7). `X-Service-Signature` follows interface 2:
//! an HMAC-SHA256 over the body alone, keyed with the whole `whsec_…` text. `webhook-signature` follows Standard Webhooks: an
//! HMAC-SHA256 over `id.timestamp.body`, keyed with the decoded base64 bytes. During the overlap of a rotation,
//! `X-Service-Signature` uses the previous secret, because it holds only one signature. `webhook-signature` holds one signature for
//! each of the two secrets.

use chrono::{DateTime, Utc};

use crate::kernel::crypto::{hmac_sha256, standard_signature};
use crate::text_enum;
use crate::webhooks::endpoint::SigningSecret;

text_enum! {
    /// The format of `X-Service-Signature`.
    pub enum SignatureFormat, default Bare {
        /// Lower-case hex, which the verification sample of the interface compares with.
        Bare = "bare",
        /// `sha256=` followed by lower-case hex.
        Prefixed = "prefixed",
    }
}

/// The signing secrets of a subscription at one moment.
#[derive(Debug)]
pub struct SigningSecrets {
    pub current: SigningSecret,
    /// The previous secret, during the overlap of a rotation.
    pub previous: Option<SigningSecret>,
}

impl SigningSecrets {
    /// The value of `X-Service-Signature`.
    pub fn service_signature(&self, format: SignatureFormat, body: &[u8]) -> String {
        let secret = self.previous.as_ref().unwrap_or(&self.current);
        let digest = hex::encode(hmac_sha256(secret.reveal().as_bytes(), &[body]));
        match format {
            SignatureFormat::Bare => digest,
            SignatureFormat::Prefixed => format!("sha256={digest}"),
        }
    }

    /// The value of `webhook-signature`, for the `webhook-id` given by `id` and the `webhook-timestamp` of `at` in seconds.
    pub fn standard_signature(&self, id: &str, at: DateTime<Utc>, body: &[u8]) -> String {
        let secrets = std::iter::once(&self.current).chain(&self.previous);
        secrets.map(|secret| standard_signature(&secret.decoded(), id, at, body)).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use standardwebhooks::Webhook;

    const ID: &str = "event_01h455vb4pex5vsknk084sn02q";
    const BODY: &[u8] = br#"{"event":"order.created"}"#;

    #[expect(clippy::disallowed_methods, reason = "the library under test reads the system clock")]
    fn now() -> DateTime<Utc> {
        Utc::now()
    }

    fn verifies(secret: &SigningSecret, secrets: &SigningSecrets, at: DateTime<Utc>, body: &[u8]) -> bool {
        let mut headers = axum::http::HeaderMap::new();
        headers.insert("webhook-id", ID.parse().unwrap());
        headers.insert("webhook-timestamp", at.timestamp().into());
        headers.insert("webhook-signature", secrets.standard_signature(ID, at, BODY).parse().unwrap());
        Webhook::new(secret.reveal()).unwrap().verify(body, &headers).is_ok()
    }

    #[test]
    fn the_libraries_of_standard_webhooks_verify_as_they_are() {
        let [current, other] = [SigningSecret::generate(), SigningSecret::generate()];
        let secrets = SigningSecrets { current: current.clone(), previous: None };
        assert!(verifies(&current, &secrets, now(), BODY));
        assert!(!verifies(&other, &secrets, now(), BODY));
        assert!(!verifies(&current, &secrets, now(), b"{}"));
        assert!(!verifies(&current, &secrets, now() - TimeDelta::minutes(6), BODY));
    }

    #[test]
    fn the_example_of_standard_webhooks_comes_out_as_published() {
        let secrets = SigningSecrets { current: SigningSecret::known("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), previous: None };
        let at = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        let signature = secrets.standard_signature("msg_p5jXN8AQM9LWM0D4loKWxJek", at, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn the_service_signature_is_the_hex_digest_that_openssl_makes() {
        // printf '{"event":"order.created"}' | openssl dgst -sha256 -hmac whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
        let digest = "bce1a9e5da3e16e29e226ee87e0b8f91740ed2155abc000122f72b3b5102ee6a";
        let secrets = SigningSecrets { current: SigningSecret::known("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), previous: None };
        assert_eq!(secrets.service_signature(SignatureFormat::Bare, BODY), digest);
        assert_eq!(secrets.service_signature(SignatureFormat::Prefixed, BODY), format!("sha256={digest}"));
    }

    #[test]
    fn while_a_rotation_overlaps_both_secrets_verify_and_the_older_makes_the_service_signature() {
        let [current, previous] = [SigningSecret::generate(), SigningSecret::generate()];
        let before = SigningSecrets { current: previous.clone(), previous: None };
        let overlapping = SigningSecrets { current: current.clone(), previous: Some(previous.clone()) };
        assert!(verifies(&current, &overlapping, now(), BODY));
        assert!(verifies(&previous, &overlapping, now(), BODY));
        let service_signature = |secrets: &SigningSecrets| secrets.service_signature(SignatureFormat::Bare, BODY);
        assert_eq!(service_signature(&overlapping), service_signature(&before));
    }
}
