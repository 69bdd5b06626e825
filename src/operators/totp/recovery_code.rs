//! Codes that stand in for the authenticator app, each once.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, random_hex};
use crate::kernel::ids::OperatorId;
use crate::kernel::typed_text::code_characters;

/// How many an operator gets.
pub(super) const COUNT: usize = 10;

/// The digits of a code without its hyphens: 64 bits.
const DIGITS: usize = 16;

const PURPOSE: &str = "recovery codes of operators";

/// Four groups of four hex digits.
#[derive(Clone, Debug)]
pub struct RecoveryCode(SecretString);

impl RecoveryCode {
    pub(super) fn generate() -> Self {
        let digits = random_hex::<{ DIGITS / 2 }>();
        let groups: Vec<_> = digits.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
        Self(groups.join("-").into())
    }

    /// A code as somebody has typed it; `None` if it cannot be one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let digits: String = code_characters(text).take(DIGITS + 1).collect();
        let is_one = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one.then(|| {
            let groups: Vec<_> = digits.as_bytes().chunks(4).map(|group| String::from_utf8_lossy(group).to_ascii_lowercase()).collect();
            Self(groups.join("-").into())
        })
    }

    /// The code in plain text.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    /// How it is stored: worth nothing to somebody who has the database alone.
    pub(super) fn digest(&self, key: &ApplicationKey, operator: OperatorId) -> Vec<u8> {
        key.mac(PURPOSE, self.digested(operator).as_bytes()).as_ref().to_vec()
    }

    /// How it may be stored, by whichever key.
    pub(super) fn digests(&self, key: &ApplicationKey, operator: OperatorId) -> Vec<Vec<u8>> {
        key.macs(PURPOSE, self.digested(operator).as_bytes()).map(|mac| mac.as_ref().to_vec()).collect()
    }

    fn digested(&self, operator: OperatorId) -> String {
        format!("{} {operator}", self.reveal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_it_is_typed() {
        let code = RecoveryCode::generate();
        assert_eq!(code.reveal().len(), 19);
        let without = code.reveal().replace('-', "");
        let pasted = format!("\t{}\r\n", code.reveal().replace('-', "\u{2011}"));
        for typed in [code.reveal().to_owned(), without.clone(), without.to_uppercase(), code.reveal().replace('-', " "), pasted] {
            assert_eq!(RecoveryCode::read(&typed).unwrap().reveal(), code.reveal(), "{typed}");
        }
        for other in ["", "123456", &without[1..], &format!("{without}0"), "zzzz-zzzz-zzzz-zzzz"] {
            assert!(RecoveryCode::read(other).is_none(), "{other:?}");
        }
    }
}
