//! The code that takes a change back: long enough that nobody guesses it within its seven days, and short enough to be typed from a text.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, SecretDigest, random_bytes};

/// Crockford's base32: no I, L, O and U, which are mistaken for others.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 80 bits.
const LEN: usize = 16;
const GROUP: usize = 4;
const PURPOSE: &str = "take-back codes";

/// A code in its one spelling, without the hyphens between its groups.
#[derive(Debug)]
pub struct TakeBackCode(SecretString);

impl TakeBackCode {
    pub fn generate() -> Self {
        let digits: String = random_bytes::<LEN>().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
        Self(digits.into())
    }

    /// Reads a code as people type it: in any case, with or without hyphens and blanks, with letters for the digits that they look like.
    pub fn parse(typed: &str) -> Option<Self> {
        let read = |character: char| match character.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        };
        let digits: String = typed.chars().filter(|c| !matches!(c, '-' | ' ')).take(LEN + 1).map(read).collect();
        let is_code = digits.len() == LEN && digits.bytes().all(|byte| ALPHABET.contains(&byte));
        is_code.then(|| Self(digits.into()))
    }

    /// The code in groups, as a notice shows it.
    pub fn shown(&self) -> String {
        let digits: Vec<char> = self.0.expose_secret().chars().collect();
        digits.chunks(GROUP).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join("-")
    }

    /// The digest that is stored instead of the code.
    pub fn digest(&self, key: &ApplicationKey) -> SecretDigest {
        key.mac(PURPOSE, self.0.expose_secret().as_bytes())
    }

    /// The digests under which it may be stored, by whichever key.
    pub fn digests(&self, key: &ApplicationKey) -> Vec<Vec<u8>> {
        key.macs(PURPOSE, self.0.expose_secret().as_bytes()).map(|digest| digest.as_ref().to_vec()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code = TakeBackCode::generate();
        let (shown, digits) = (code.shown(), code.0.expose_secret().to_owned());
        assert_eq!((shown.len(), shown.matches('-').count()), (19, 3));
        for typed in [shown.clone(), shown.to_lowercase(), digits.clone(), format!(" {} ", shown.replace('-', " "))] {
            assert_eq!(TakeBackCode::parse(&typed).unwrap().0.expose_secret(), digits);
        }
        assert_eq!(TakeBackCode::parse("OIL0-0000-0000-0000").unwrap().0.expose_secret(), "0110000000000000");
        for bad in ["", "123456", "0000-0000-0000-000", "0000-0000-0000-00000", "U000-0000-0000-0000", "é000-0000-0000-000"] {
            assert!(TakeBackCode::parse(bad).is_none(), "{bad}");
        }
    }
}
