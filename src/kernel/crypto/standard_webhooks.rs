//! The secrets and the signature of Standard Webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};

use crate::kernel::crypto::hmac_sha256;

/// What every secret begins with.
const PREFIX: &str = "whsec_";

/// The secret with this key: `whsec_` and its base64.
pub fn standard_secret(key: &[u8]) -> String {
    format!("{PREFIX}{}", STANDARD.encode(key))
}

/// The key of a secret; `None` if the text is no secret.
pub fn standard_key(secret: &str) -> Option<Vec<u8>> {
    STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()
}

/// One signature of `webhook-signature`: the HMAC-SHA256 over `id.timestamp.body`, for the `webhook-id` given by `id` and the
/// `webhook-timestamp` of `at` in seconds.
pub fn standard_signature(key: &[u8], id: &str, at: DateTime<Utc>, body: &[u8]) -> String {
    let start = format!("{id}.{}.", at.timestamp());
    format!("v1,{}", STANDARD.encode(hmac_sha256(key, &[start.as_bytes(), body])))
}
