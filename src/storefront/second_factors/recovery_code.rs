//! Codes that stand in for the authenticator app, each once.

use crate::kernel::crypto::{TypedCode, sha256};
use crate::kernel::ids::CustomerId;

/// How many a customer gets.
pub const COUNT: usize = 10;

/// 120 bits. So many need no slow hash (ASVS 5.0, 6.5.2) and no key, whose replacement they would not survive.
#[derive(Clone, Debug)]
pub struct RecoveryCode(TypedCode<24>);

impl RecoveryCode {
    pub fn generate() -> Self {
        Self(TypedCode::generate())
    }

    /// Reads a code as people type it.
    pub fn parse(typed: &str) -> Option<Self> {
        TypedCode::parse(typed).map(Self)
    }

    /// The code in groups, as it is shown once.
    pub fn shown(&self) -> String {
        self.0.shown()
    }

    /// What is stored instead of the code: another one for each customer. It is looked up, so it needs no comparison in constant time.
    pub fn digest(&self, customer: CustomerId) -> Vec<u8> {
        sha256(format!("recovery code of {customer} {}", self.0.digits())).to_vec()
    }
}
