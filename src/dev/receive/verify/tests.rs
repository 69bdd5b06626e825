//! Signatures made as senders make them: as the interface defines it, and with the library of Standard Webhooks.

use axum::http::{HeaderName, HeaderValue};
use standardwebhooks::Webhook;

use super::*;

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY: &[u8] = br#"{"event":"order.created"}"#;

fn secret(text: &str) -> SigningSecret {
    text.parse().unwrap()
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    pairs.iter().map(pair).collect()
}

/// As the interface defines it: the hex digest, keyed with the secret in the form that subscribers see.
fn service_signature(secret: &str) -> String {
    hex::encode(keyed(secret.as_bytes()).chain_update(BODY).finalize().into_bytes())
}

/// As the library of the specification makes it.
fn standard_signature(secret: &str) -> String {
    Webhook::new(secret).unwrap().sign("event_1", 1_780_000_000, BODY).unwrap()
}

fn service_verdict(value: &str, secrets: &[SigningSecret]) -> Verdict {
    Verdicts::on(&headers(&[(SERVICE_SIGNATURE, value)]), BODY, secrets).service
}

fn standard_verdict(value: &str, secrets: &[SigningSecret]) -> Verdict {
    let trio = [("webhook-id", "event_1"), ("webhook-timestamp", "1780000000"), (STANDARD_SIGNATURE, value)];
    Verdicts::on(&headers(&trio), BODY, secrets).standard
}

#[test]
fn the_service_signature_is_the_hex_digest_with_or_without_its_prefix() {
    // Computed with `printf '{"event":"order.created"}' | openssl dgst -sha256 -hmac whsec_MfKQ…`.
    let digest = "bce1a9e5da3e16e29e226ee87e0b8f91740ed2155abc000122f72b3b5102ee6a";
    let secrets = [secret(OLD)];
    assert_eq!(service_verdict(digest, &secrets), Verdict::Verified);
    assert_eq!(service_verdict(&format!("sha256={digest}"), &secrets), Verdict::Verified);
    assert_eq!(service_verdict(&digest.replace('a', "b"), &secrets), Verdict::Wrong);
    assert_eq!(service_verdict(&digest[..32], &secrets), Verdict::Wrong);
    assert_eq!(service_verdict("no digest", &secrets), Verdict::Wrong);
}

#[test]
fn the_standard_signature_is_that_of_the_specification() {
    assert_eq!(standard_verdict(&standard_signature(OLD), &[secret(OLD)]), Verdict::Verified);
    assert_eq!(standard_verdict(&standard_signature(OLD), &[secret(NEW)]), Verdict::Wrong);
    assert_eq!(standard_verdict("v1,", &[secret(OLD)]), Verdict::Wrong);
    let asymmetric = standard_signature(OLD).replace("v1,", "v1a,");
    assert_eq!(standard_verdict(&asymmetric, &[secret(OLD)]), Verdict::Wrong);
}

#[test]
fn while_a_rotation_overlaps_either_secret_will_do() {
    let both = format!("{} {}", standard_signature(NEW), standard_signature(OLD));
    for known in [[secret(OLD)].as_slice(), &[secret(NEW)], &[secret(NEW), secret(OLD)]] {
        assert_eq!(standard_verdict(&both, known), Verdict::Verified);
    }
    assert_eq!(service_verdict(&service_signature(OLD), &[secret(NEW), secret(OLD)]), Verdict::Verified);
}

#[test]
fn what_a_careful_subscriber_takes() {
    use Verdict::{Missing, NotChecked, Verified, Wrong};
    let cases = [
        (Verified, Verified, true),
        (Verified, Missing, true),
        (Missing, Verified, true),
        (NotChecked, NotChecked, true),
        (Missing, Missing, false),
        (Verified, Wrong, false),
        (Wrong, Verified, false),
    ];
    for (service, standard, taken) in cases {
        assert_eq!(Verdicts { service, standard }.are_acceptable(), taken, "{service:?} {standard:?}");
    }
}

#[test]
fn without_a_secret_nothing_is_checked_and_without_a_header_nothing_is_there() {
    assert_eq!(service_verdict(&service_signature(OLD), &[]), Verdict::NotChecked);
    assert_eq!(Verdicts::on(&HeaderMap::new(), BODY, &[secret(OLD)]).service, Verdict::Missing);
}

#[test]
fn only_what_the_console_shows_is_a_secret_and_no_debug_text_shows_it() {
    for text in ["", "whsec_", "whsec_???", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
        assert!(text.parse::<SigningSecret>().is_err(), "{text}");
    }
    assert_eq!(format!("{:?}", secret(OLD)).matches("MfKQ").count(), 0);
}
