//! Verifies deliveries: the two signatures of the webhook interface, checked as a subscriber would.

use std::str::FromStr;

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

#[cfg(test)]
mod tests;

/// The signature header of interface 2, section "Authentication".
pub const SERVICE_SIGNATURE: &str = "X-Service-Signature";
/// The signature header of the Standard Webhooks specification.
pub const STANDARD_SIGNATURE: &str = "webhook-signature";

/// A webhook's signing secret, as the two keys derived from it. They are not shown in logs.
#[derive(Clone, Debug)]
pub struct SigningSecret {
    /// The MAC keyed with the whole `whsec_…` text.
    service: Hmac<Sha256>,
    /// The MAC keyed with the decoded base64 text after `whsec_`.
    standard: Hmac<Sha256>,
}

/// The text is not a signing secret.
#[derive(Debug, thiserror::Error)]
#[error("a signing secret must be `whsec_` followed by base64")]
pub struct InvalidSigningSecret;

impl FromStr for SigningSecret {
    type Err = InvalidSigningSecret;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let encoded = text.strip_prefix("whsec_").ok_or(InvalidSigningSecret)?;
        let key = STANDARD.decode(encoded).map_err(|_| InvalidSigningSecret)?;
        if key.is_empty() {
            return Err(InvalidSigningSecret);
        }
        Ok(Self { service: keyed(text.as_bytes()), standard: keyed(&key) })
    }
}

impl SigningSecret {
    /// `signature` is the hex digest of the body, with or without the prefix `sha256=`.
    fn made_service_signature(&self, signature: &str, body: &[u8]) -> bool {
        let signed = self.service.clone().chain_update(body);
        let digest = hex::decode(signature.strip_prefix("sha256=").unwrap_or(signature));
        // The comparison takes constant time.
        digest.is_ok_and(|digest| signed.verify_slice(&digest).is_ok())
    }

    /// `signatures` are `v1,<base64>`, one per valid secret of the sender, separated by spaces.
    fn made_standard_signature(&self, signatures: &str, signed_before_body: &str, body: &[u8]) -> bool {
        let signed = self.standard.clone().chain_update(signed_before_body).chain_update(body);
        signatures
            .split(' ')
            .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok())
            .any(|digest| signed.clone().verify_slice(&digest).is_ok())
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC accepts keys of any length")
}

/// The result of checking one signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The signature matches one of the secrets.
    Verified,
    /// The signature matches none of the secrets, or is malformed.
    Wrong,
    /// The header is missing.
    Missing,
    /// There is no secret to check the signature with.
    NotChecked,
}

/// The verdicts on both signatures of one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// The verdict on [`SERVICE_SIGNATURE`].
    pub service: Verdict,
    /// The verdict on [`STANDARD_SIGNATURE`].
    pub standard: Verdict,
}

impl Verdicts {
    /// Checks the raw body against both headers. Several secrets may be valid at the same time, as during a rotation.
    #[must_use]
    pub fn on(headers: &HeaderMap, body: &[u8], secrets: &[SigningSecret]) -> Self {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let [id, timestamp] = ["webhook-id", "webhook-timestamp"].map(|name| text(name).unwrap_or_default());
        let signed_before_body = format!("{id}.{timestamp}.");
        Self {
            service: verdict(text(SERVICE_SIGNATURE), secrets, |signature, secret| secret.made_service_signature(signature, body)),
            standard: verdict(text(STANDARD_SIGNATURE), secrets, |signatures, secret| {
                secret.made_standard_signature(signatures, &signed_before_body, body)
            }),
        }
    }

    /// Whether a careful subscriber would accept the delivery: one signature is verified and none is wrong, or signatures are not
    /// checked.
    #[must_use]
    pub fn are_acceptable(self) -> bool {
        let both = [self.service, self.standard];
        let nothing_speaks_for_it = both == [Verdict::Missing; 2];
        !both.contains(&Verdict::Wrong) && !nothing_speaks_for_it
    }
}

fn verdict(header: Option<&str>, secrets: &[SigningSecret], fits: impl Fn(&str, &SigningSecret) -> bool) -> Verdict {
    match header {
        _ if secrets.is_empty() => Verdict::NotChecked,
        None => Verdict::Missing,
        Some(value) if secrets.iter().any(|secret| fits(value, secret)) => Verdict::Verified,
        Some(_) => Verdict::Wrong,
    }
}
