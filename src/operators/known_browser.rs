//! Browsers that an operator has signed in with before.
//!
//! Limits of wrong passwords would be a weapon if they held everywhere: whoever knows an operator's address could keep them out. A
//! browser that has once signed in as the operator keeps a proof of it, and has a limit of its own. The proof is one for the address: somebody who
//! works for several companies keeps the same one in all of them.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, random_hex};

const PURPOSE: &str = "known browsers of operators";

/// The proof, as the browser keeps it: a random number and its MAC.
#[derive(Clone, Debug)]
pub struct KnownBrowser(SecretString);

impl KnownBrowser {
    /// A proof for the operators with this address. A browser that has one keeps it, so that nobody collects several.
    pub(super) fn new(key: &ApplicationKey, email: &str, presented: Option<&SecretString>) -> Self {
        let number = presented.and_then(|proof| Self::number(key, email, proof)).unwrap_or_else(random_hex::<16>);
        let mac = hex::encode(key.mac(PURPOSE, message(email, &number).as_bytes()));
        Self(format!("{number}.{mac}").into())
    }

    /// The number of the browser if `proof` is one for this address.
    pub(super) fn number(key: &ApplicationKey, email: &str, proof: &SecretString) -> Option<String> {
        let (number, claimed) = proof.expose_secret().split_once('.')?;
        let claimed = hex::decode(claimed).ok()?;
        key.macs(PURPOSE, message(email, number).as_bytes()).any(|mac| mac.is(&claimed)).then(|| number.to_owned())
    }

    /// The proof in plain text, for the cookie.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

fn message(email: &str, number: &str) -> String {
    format!("{number} {email}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_worth_something_for_its_address_alone() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [ada, eve] = ["ada@shop.example", "eve@shop.example"];
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
