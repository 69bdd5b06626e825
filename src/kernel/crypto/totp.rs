//! Time-based one-time passwords (RFC 6238), as authenticator apps make them: SHA-1, six digits, another every 30 seconds.
//!
//! Whether a step was accepted before is for the caller to store: a code must not work twice.

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use totp_rs::{Builder, Totp};

use crate::kernel::crypto::random_bytes;

/// The length of a secret: that of SHA-1, as RFC 4226 recommends.
const BYTES: usize = 20;

/// A secret that an authenticator app shares with the service, and the codes that follow from it.
#[derive(Clone, Debug)]
pub struct TotpSecret(SecretSlice<u8>);

impl TotpSecret {
    /// A new secret.
    pub fn generate() -> Self {
        Self(random_bytes::<BYTES>().to_vec().into())
    }

    /// The bytes, to be sealed.
    pub fn bytes(&self) -> &[u8] {
        self.0.expose_secret()
    }

    /// The step of the code, if it is the code of this moment, or of 30 seconds before or after: clocks differ, and people type slowly.
    pub fn step_of(&self, code: &str, now: DateTime<Utc>) -> Option<i64> {
        let time = u64::try_from(now.timestamp()).ok()?;
        i64::try_from(self.totp("", "").check(code, time)?).ok()
    }

    /// The address that apps read from a QR code. A colon separates its parts, so there is none within them.
    pub fn address(&self, issuer: &str, account: &str) -> SecretString {
        let address = self.totp(&issuer.replace(':', "_"), &account.replace(':', "_")).to_url();
        address.expect("the label has no colon").into()
    }

    /// What is typed into an app that reads no QR codes.
    pub fn base32(&self) -> SecretString {
        self.totp("", "").secret().to_base32().into()
    }

    fn totp(&self, issuer: &str, account: &str) -> Totp {
        let secret = self.0.expose_secret().to_vec();
        Builder::new().with_secret(secret).with_account_name(account).with_issuer(Some(issuer)).build_noncompliant()
    }
}

/// A secret that was opened.
impl From<SecretSlice<u8>> for TotpSecret {
    fn from(bytes: SecretSlice<u8>) -> Self {
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    /// The secret of the test vectors of RFC 6238, appendix B, whose last six digits are the codes.
    fn secret() -> TotpSecret {
        SecretSlice::from(b"12345678901234567890".to_vec()).into()
    }

    #[test]
    fn the_codes_are_those_of_the_standard() {
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(secret().step_of(code, at(seconds)), Some(seconds / 30), "{seconds}");
        }
    }

    #[test]
    fn a_code_is_good_one_step_early_and_late_and_no_longer() {
        let step = 1_111_111_111 / 30;
        for (steps, good) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] {
            assert_eq!(secret().step_of("050471", at((step + steps) * 30)).is_some(), good, "{steps}");
        }
        for wrong in ["", "050472", "50471", "0504710", "05O471", "                    "] {
            assert_eq!(secret().step_of(wrong, at(1_111_111_111)), None, "{wrong:?}");
        }
    }

    #[test]
    fn an_app_reads_the_secret_from_an_address_or_a_person_types_it() {
        assert_eq!(
            secret().address("Portico", "ada@shop.example").expose_secret(),
            "otpauth://totp/Portico:ada%40shop.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Portico"
        );
        let odd = secret().address("Ann: flowers & more", "a:b");
        assert!(odd.expose_secret().starts_with("otpauth://totp/Ann_%20flowers%20%26%20more:a_b?"), "{}", odd.expose_secret());
        assert_eq!(secret().base32().expose_secret(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    }
}
