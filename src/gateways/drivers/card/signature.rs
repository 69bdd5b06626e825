//! `t=1779358500,v1=5257a869…`: an HMAC-SHA256 over the timestamp, a dot and the body. While the secret is being rotated, there are
//! several signatures.

use chrono::{DateTime, Utc};

use crate::gateways::drivers::SignatureError;
use crate::kernel::crypto::{SecretDigest, hmac_sha256};

/// Maximum age of a signature, and maximum clock skew of the provider, in seconds.
const TOLERANCE: u64 = 300;

pub fn verify(secret: &[u8], header: &str, body: &[u8], now: DateTime<Utc>) -> Result<(), SignatureError> {
    let (time, signatures) = parse(header).ok_or(SignatureError::SignatureMalformed)?;
    let expected = mac(secret, time, body);
    // All signatures are compared, so that the duration does not reveal which one was close (timing attack).
    if !signatures.iter().fold(false, |genuine, signature| genuine | expected.is(signature)) {
        return Err(SignatureError::SignatureWrong);
    }
    // Checked last: the timestamp can be trusted only after the signature is verified.
    let made: i64 = time.parse().map_err(|_| SignatureError::SignatureMalformed)?;
    if now.timestamp().abs_diff(made) > TOLERANCE { Err(SignatureError::TimestampOutside) } else { Ok(()) }
}

/// The header value that [`verify`] accepts.
pub fn sign(secret: &[u8], body: &[u8], now: DateTime<Utc>) -> String {
    let time = now.timestamp().to_string();
    format!("t={time},v1={}", hex::encode(mac(secret, &time, body)))
}

fn mac(secret: &[u8], time: &str, body: &[u8]) -> SecretDigest {
    hmac_sha256(secret, &[time.as_bytes(), b".", body])
}

/// The timestamp as text, and all signatures of version 1.
fn parse(header: &str) -> Option<(&str, Vec<Vec<u8>>)> {
    let (mut time, mut signatures) = (None, Vec::new());
    for part in header.split(',') {
        match part.trim().split_once('=')? {
            ("t", digits) if time.is_none() && digits.bytes().all(|byte| byte.is_ascii_digit()) => time = Some(digits),
            ("t", _) => return None,
            ("v1", signature) => signatures.extend(hex::decode(signature)),
            // Future versions, and the scheme that the provider's test mode adds.
            _ => {}
        }
    }
    Some((time?, signatures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    const SECRET: &[u8] = b"whsec_test";
    const BODY: &[u8] = b"{\"id\":\"evt_1\"}";

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_779_358_500, 0).unwrap()
    }

    #[test]
    fn one_of_several_signatures_is_enough() {
        let good = sign(SECRET, BODY, now());
        let signature = good.split_once("v1=").unwrap().1;
        assert_eq!(verify(SECRET, &good, BODY, now()), Ok(()));
        let rolled = format!("t={},v1={},v1={signature},v0=abc", now().timestamp(), "0".repeat(64));
        assert_eq!(verify(SECRET, &rolled, BODY, now()), Ok(()));
    }

    #[test]
    fn a_signature_is_of_these_bytes_this_secret_and_this_time() {
        let good = sign(SECRET, BODY, now());
        assert_eq!(verify(SECRET, &good, b"{}", now()), Err(SignatureError::SignatureWrong));
        assert_eq!(verify(b"whsec_other", &good, BODY, now()), Err(SignatureError::SignatureWrong));
        let later = good.replace("t=1779358500", "t=1779358501");
        assert_eq!(verify(SECRET, &later, BODY, now()), Err(SignatureError::SignatureWrong));
        for (seconds, expected) in
            [(300, Ok(())), (301, Err(SignatureError::TimestampOutside)), (-300, Ok(())), (-301, Err(SignatureError::TimestampOutside))]
        {
            assert_eq!(verify(SECRET, &good, BODY, now() + TimeDelta::seconds(seconds)), expected, "{seconds} s");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for malformed in ["", "v1=00", "t=,v1", "t=x,v1=00", "t=-1,v1=00", "t=1,t=2,v1=00", "sha256=00"] {
            assert_eq!(verify(SECRET, malformed, BODY, now()), Err(SignatureError::SignatureMalformed), "{malformed:?}");
        }
        for unsigned in ["t=1779358500", "t=1779358500,v1=", "t=1779358500,v1=zz", "t=1779358500,v0=00"] {
            assert_eq!(verify(SECRET, unsigned, BODY, now()), Err(SignatureError::SignatureWrong), "{unsigned:?}");
        }
    }
}
