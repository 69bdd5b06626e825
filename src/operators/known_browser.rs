//! Browsers that an operator has signed in with before.
//!
//! Limits of wrong passwords would be a weapon if they held everywhere: whoever knows an operator's address could keep them out. A
//! browser that has once signed in as the operator keeps a proof of it, and has a limit of its own.

use crate::kernel::crypto::{ApplicationKey, random_hex};

/// The proof, as the browser keeps it: a random number and its MAC.
#[derive(Clone, Debug)]
pub struct KnownBrowser(String);

impl KnownBrowser {
    /// A proof for the operator with this address.
    pub(super) fn new(key: &ApplicationKey, email: &str) -> Self {
        let number = random_hex::<16>();
        let mac = mac(key, email, &number);
        Self(format!("{number}.{mac}"))
    }

    /// The number of the browser if `proof` is one for the operator with this address.
    pub(super) fn number<'a>(key: &ApplicationKey, email: &str, proof: &'a str) -> Option<&'a str> {
        let (number, claimed) = proof.split_once('.')?;
        let claimed = hex::decode(claimed).ok()?;
        key.mac(PURPOSE, message(email, number).as_bytes()).is(claimed).then_some(number)
    }

    /// The proof in plain text, for the cookie.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

const PURPOSE: &str = "known browsers of operators";

fn message(email: &str, number: &str) -> String {
    format!("{number} {email}")
}

fn mac(key: &ApplicationKey, email: &str, number: &str) -> String {
    hex::encode(key.mac(PURPOSE, message(email, number).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_worth_something_for_its_operator_alone() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let proof = KnownBrowser::new(&key, "ada@example.com");
        let number = proof.reveal().split('.').next();
        assert_eq!(KnownBrowser::number(&key, "ada@example.com", proof.reveal()), number);
        assert_eq!(KnownBrowser::number(&key, "eve@example.com", proof.reveal()), None);
        for forged in ["", "1.", "1.00", "no proof"] {
            assert_eq!(KnownBrowser::number(&key, "ada@example.com", forged), None, "{forged:?}");
        }
    }
}
