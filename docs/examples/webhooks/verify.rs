use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Whether a delivery is genuine and at most five minutes old; `now` is in seconds since 1970.
pub fn verify(secret: &str, id: &str, timestamp: &str, signatures: &str, body: &[u8], now: u64) -> bool {
    let Ok(sent_at) = timestamp.parse::<u64>() else { return false };
    let Some(Ok(key)) = secret.strip_prefix("whsec_").map(|key| STANDARD.decode(key)) else { return false };
    let mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC accepts keys of any length");
    let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body);
    let mut digests = signatures.split(' ').filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    // `verify_slice` compares in constant time.
    now.abs_diff(sent_at) <= 300 && digests.any(|digest| mac.clone().verify_slice(&digest).is_ok())
}
