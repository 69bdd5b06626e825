//! Codes that people type: long ones that nobody can guess, such as `K7QM-2XTD-9FHC-WB4N`, and codes of six digits.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::random_bytes;
use crate::kernel::typed_text::code_characters;

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

    /// Reads a code as people type and paste it ([`code_characters`]): in any case, with letters for the digits that they look like.
    pub fn parse(typed: &str) -> Option<Self> {
        let read = |character: char| match character.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        };
        let digits: String = code_characters(typed).take(LEN + 1).map(read).collect();
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

/// Reads a code of six digits as people type and paste it; `None` if it cannot be one.
pub fn six_digits(typed: &str) -> Option<SecretString> {
    let digits: String = code_characters(typed).take(7).collect();
    (digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_read_as_people_paste_them() {
        for typed in ["012345", "012 345", " 012345\n", "012–345", "\u{2066}012\u{a0}345\u{2069}", "٠١٢٣٤٥", "０１２３４５"] {
            assert_eq!(six_digits(typed).unwrap().expose_secret(), "012345", "{typed:?}");
        }
        for other in ["", "01234", "0123456", "01234x", "+12345", "012.345", "0x2345", "12345²"] {
            assert!(six_digits(other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code = TypedCode::<16>::generate();
        let (shown, digits) = (code.shown(), code.digits().to_owned());
        assert_eq!((shown.len(), shown.matches('-').count()), (19, 3));
        let pasted =
            ["\r\n", "\t", "\u{a0}", "\u{2011}", "—", "\u{2066}"].map(|between| format!("{}{between}", shown.replace('-', between)));
        let typed = [shown.clone(), shown.to_lowercase(), digits.clone(), format!(" {} ", shown.replace('-', " "))];
        for typed in typed.into_iter().chain(pasted) {
            assert_eq!(TypedCode::<16>::parse(&typed).unwrap().digits(), digits);
        }
        assert_eq!(TypedCode::<16>::parse("OIL0-0000-0000-0000").unwrap().digits(), "0110000000000000");
        for bad in ["", "123456", "0000-0000-0000-000", "0000-0000-0000-00000", "U000-0000-0000-0000", "é000-0000-0000-000"] {
            assert!(TypedCode::<16>::parse(bad).is_none(), "{bad}");
        }
    }
}
