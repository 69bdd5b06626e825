//! Whether a delivery is genuine: the two signatures of the webhook interface, checked as a
//! subscriber checks them.

use std::str::FromStr;

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

#[cfg(test)]
mod tests;

/// The signature of interface 2, section "Authentication".
pub const SERVICE_SIGNATURE: &str = "X-Service-Signature";
/// The signature of the Standard Webhooks specification.
pub const STANDARD_SIGNATURE: &str = "webhook-signature";

/// A webhook's signing secret, kept as the two keys made of it; they show themselves in no log.
#[derive(Clone, Debug)]
pub struct SigningSecret {
    /// Keyed with the whole `whsec_…` text.
    service: Hmac<Sha256>,
    /// Keyed with the bytes that stand in base64 after `whsec_`.
    standard: Hmac<Sha256>,
}

/// A text that is no signing secret.
#[derive(Debug, thiserror::Error)]
#[error("a signing secret is `whsec_` followed by base64, as the console shows it")]
pub struct NotASigningSecret;

impl FromStr for SigningSecret {
    type Err = NotASigningSecret;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let encoded = text.strip_prefix("whsec_").ok_or(NotASigningSecret)?;
        let key = STANDARD.decode(encoded).map_err(|_| NotASigningSecret)?;
        if key.is_empty() {
            return Err(NotASigningSecret);
        }
        Ok(Self { service: keyed(text.as_bytes()), standard: keyed(&key) })
    }
}

impl SigningSecret {
    /// `signature` is the hex digest of the body, with or without `sha256=` before it.
    fn made_service_signature(&self, signature: &str, body: &[u8]) -> bool {
        let signed = self.service.clone().chain_update(body);
        let digest = hex::decode(signature.strip_prefix("sha256=").unwrap_or(signature));
        // The comparison takes the same time wherever two digests differ.
        digest.is_ok_and(|digest| signed.verify_slice(&digest).is_ok())
    }

    /// `signatures` are `v1,<base64>`, one per secret that is good at the sender's, separated by
    /// spaces.
    fn made_standard_signature(&self, signatures: &str, signed_before_body: &str, body: &[u8]) -> bool {
        let signed = self.standard.clone().chain_update(signed_before_body).chain_update(body);
        signatures
            .split(' ')
            .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok())
            .any(|digest| signed.clone().verify_slice(&digest).is_ok())
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of every length")
}

/// What is to be said of one signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Made with one of the secrets.
    Verified,
    /// Made with none of them, or not readable.
    Wrong,
    /// The header is not there.
    Missing,
    /// There is no secret to check it with.
    NotChecked,
}

/// The verdicts on both signatures of one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// On [`SERVICE_SIGNATURE`].
    pub service: Verdict,
    /// On [`STANDARD_SIGNATURE`].
    pub standard: Verdict,
}

impl Verdicts {
    /// Checks the raw body against both headers. Several secrets are good at once, as while a
    /// rotation overlaps.
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

    /// Whether a careful subscriber takes the delivery: one signature fits and none is wrong, or it
    /// checks none.
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
