//! The code that takes a change back: long enough that nobody guesses it within its seven days, and short enough to be typed from a text.

use crate::kernel::crypto::{ApplicationKey, SecretDigest, TypedCode};

const PURPOSE: &str = "take-back codes";

/// 80 bits.
#[derive(Debug)]
pub struct TakeBackCode(TypedCode<16>);

impl TakeBackCode {
    pub fn generate() -> Self {
        Self(TypedCode::generate())
    }

    /// Reads a code as people type it.
    pub fn parse(typed: &str) -> Option<Self> {
        TypedCode::parse(typed).map(Self)
    }

    /// The code in groups, as a notice shows it.
    pub fn shown(&self) -> String {
        self.0.shown()
    }

    /// The digest that is stored instead of the code.
    pub fn digest(&self, key: &ApplicationKey) -> SecretDigest {
        key.mac(PURPOSE, self.0.digits().as_bytes())
    }

    /// The digests under which it may be stored, by whichever key.
    pub fn digests(&self, key: &ApplicationKey) -> Vec<Vec<u8>> {
        key.macs(PURPOSE, self.0.digits().as_bytes()).map(|digest| digest.as_ref().to_vec()).collect()
    }
}
