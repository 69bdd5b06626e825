//! The secret that an authenticator app shares with the service (RFC 6238).

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use totp_rs::{Builder, Totp};

use crate::kernel::crypto::{ApplicationKey, CannotOpen, random_bytes};
use crate::kernel::ids::OperatorId;
use crate::kernel::sealed_values::{Context, SealedColumn};

/// The length of a secret: that of SHA-1, as RFC 4226 recommends.
const BYTES: usize = 20;

/// The column that holds secrets.
pub const SEALED: SealedColumn = SealedColumn {
    table: "operators",
    column: "sealed_totp_secret",
    content: "second factors of operators",
    context: Context::OfId(|id| context(id.into())),
};

/// A secret, and the codes that follow from it: six digits, another every 30 seconds.
#[derive(Clone, Debug)]
pub(super) struct TotpSecret(SecretSlice<u8>);

impl TotpSecret {
    pub(super) fn generate() -> Self {
        Self(random_bytes::<BYTES>().to_vec().into())
    }

    pub(super) fn seal(&self, key: &ApplicationKey, operator: OperatorId) -> Vec<u8> {
        key.seal(&context(operator), self.0.expose_secret())
    }

    pub(super) fn open(key: &ApplicationKey, operator: OperatorId, sealed: &[u8]) -> Result<Self, CannotOpen> {
        key.open(&context(operator), sealed).map(Self)
    }

    /// The step of the code, if it is the code of this moment, or of 30 seconds before or after: clocks differ, and people type slowly.
    pub(super) fn step_of(&self, code: &str, now: DateTime<Utc>) -> Option<i64> {
        let time = u64::try_from(now.timestamp()).ok()?;
        i64::try_from(self.totp("").check(code, time)?).ok()
    }

    /// The address that apps read from a QR code.
    pub(super) fn address(&self, email: &str) -> SecretString {
        // No operator's address has a colon in it, but a label must not.
        let address = self.totp(&email.replace(':', "_")).to_url();
        address.expect("the label has no colon").into()
    }

    /// What is typed into an app that reads no QR codes: groups of four letters and digits.
    pub(super) fn text(&self) -> SecretString {
        let text = self.totp("").secret().to_base32();
        let groups: Vec<_> = text.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
        groups.join(" ").into()
    }

    fn totp(&self, account: &str) -> Totp {
        let secret = self.0.expose_secret().to_vec();
        Builder::new().with_secret(secret).with_account_name(account).with_issuer(Some("Portico")).build_noncompliant()
    }
}

fn context(operator: OperatorId) -> String {
    format!("totp {operator}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    /// The secret of the test vectors of RFC 6238, appendix B, whose last six digits are the codes.
    fn secret() -> TotpSecret {
        TotpSecret(b"12345678901234567890".to_vec().into())
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
        let address = secret().address("ada@shop.example");
        assert_eq!(
            address.expose_secret(),
            "otpauth://totp/Portico:ada%40shop.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Portico"
        );
        assert_eq!(secret().text().expose_secret(), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ");
    }

    #[test]
    fn a_sealed_secret_is_that_of_its_operator() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [ada, eve] = [1, 2].map(|number| OperatorId::from(Uuid::from_u128(number)));
        let sealed = secret().seal(&key, ada);
        assert!(TotpSecret::open(&key, ada, &sealed).is_ok() && TotpSecret::open(&key, eve, &sealed).is_err());
    }
}
