//! Browsers that an operator has signed in with before.
//!
//! Limits of wrong passwords would be a weapon if they held everywhere: whoever knows an operator's address could keep them out. A
//! browser that has once signed in as the operator keeps a proof of it, and has a limit of its own.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, random_hex};
use crate::kernel::ids::OperatorId;

const PURPOSE: &str = "known browsers of operators";

/// The proof, as the browser keeps it: a random number and its MAC.
#[derive(Clone, Debug)]
pub struct KnownBrowser(SecretString);

impl KnownBrowser {
    /// A proof for this operator. A browser that has one keeps it, so that nobody collects several.
    pub(super) fn new(key: &ApplicationKey, operator: OperatorId, presented: Option<&SecretString>) -> Self {
        let number = presented.and_then(|proof| Self::number(key, operator, proof)).unwrap_or_else(random_hex::<16>);
        let mac = hex::encode(key.mac(PURPOSE, message(operator, &number).as_bytes()));
        Self(format!("{number}.{mac}").into())
    }

    /// The number of the browser if `proof` is one for this operator.
    pub(super) fn number(key: &ApplicationKey, operator: OperatorId, proof: &SecretString) -> Option<String> {
        let (number, claimed) = proof.expose_secret().split_once('.')?;
        let claimed = hex::decode(claimed).ok()?;
        key.macs(PURPOSE, message(operator, number).as_bytes()).any(|mac| mac.is(&claimed)).then(|| number.to_owned())
    }

    /// The proof in plain text, for the cookie.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

fn message(operator: OperatorId, number: &str) -> String {
    format!("{number} {operator}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_proof_is_worth_something_for_its_operator_alone() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [ada, eve] = [1, 2].map(|number| OperatorId::from(Uuid::from_u128(number)));
        let proof = KnownBrowser::new(&key, ada, None).0;
        let number = proof.expose_secret().split('.').next().unwrap().to_owned();
        assert_eq!(KnownBrowser::number(&key, ada, &proof), Some(number.clone()));
        assert_eq!(KnownBrowser::number(&key, eve, &proof), None);
        for forged in ["", "1.", "1.00", "no proof"] {
            assert_eq!(KnownBrowser::number(&key, ada, &forged.into()), None, "{forged:?}");
        }
        assert_eq!(KnownBrowser::new(&key, ada, Some(&proof)).reveal(), proof.expose_secret());
        assert!(!KnownBrowser::new(&key, eve, Some(&proof)).reveal().starts_with(&number));
    }
}
