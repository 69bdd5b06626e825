//! Codes that are long enough to be guessed by nobody, and are typed by people: `K7QM-2XTD-9FHC-WB4N`.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::random_bytes;

/// Crockford's base32: no I, L, O and U, which are mistaken for others. Five bits each.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const GROUP: usize = 4;

/// A code of `LEN` characters in its one spelling, without the hyphens between its groups.
#[derive(Clone, Debug)]
pub struct TypedCode<const LEN: usize>(SecretString);

impl<const LEN: usize> TypedCode<LEN> {
    /// A new code.
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

    /// The code in groups, as it is shown.
    pub fn shown(&self) -> String {
        let digits: Vec<char> = self.0.expose_secret().chars().collect();
        digits.chunks(GROUP).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join("-")
    }

    /// The code without its hyphens, to be digested.
    pub fn digits(&self) -> &str {
        self.0.expose_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code = TypedCode::<16>::generate();
        let (shown, digits) = (code.shown(), code.digits().to_owned());
        assert_eq!((shown.len(), shown.matches('-').count()), (19, 3));
        for typed in [shown.clone(), shown.to_lowercase(), digits.clone(), format!(" {} ", shown.replace('-', " "))] {
            assert_eq!(TypedCode::<16>::parse(&typed).unwrap().digits(), digits);
        }
        assert_eq!(TypedCode::<16>::parse("OIL0-0000-0000-0000").unwrap().digits(), "0110000000000000");
        for bad in ["", "123456", "0000-0000-0000-000", "0000-0000-0000-00000", "U000-0000-0000-0000", "é000-0000-0000-000"] {
            assert!(TypedCode::<16>::parse(bad).is_none(), "{bad}");
        }
    }
}
