//! The tracking numbers of shipments: generated, or given by a carrier.

use serde::Deserialize;
use serde_json::json;

use crate::kernel::crypto::random_bytes;
use crate::resources::{FilterForm, InvalidText, Line};

/// The longest number of a carrier, in characters.
const MAX_LEN: usize = 64;

/// Digits and capital letters without I, L, O and U, which resemble others.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A tracking number in its one spelling: one line, in capital letters. People type it as they like.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ShipmentNumber(String);

impl ShipmentNumber {
    /// A new random number of 12 characters out of 32 (2⁶⁰ values): collisions and guessing are practically impossible.
    pub(super) fn generate() -> Self {
        Self(random_bytes::<12>().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
    }
}

impl TryFrom<String> for ShipmentNumber {
    type Error = InvalidText;

    fn try_from(typed: String) -> Result<Self, InvalidText> {
        let line = Line::<MAX_LEN>::try_from(typed)?;
        Ok(Self(String::from(line).to_ascii_uppercase()))
    }
}

impl From<ShipmentNumber> for String {
    fn from(number: ShipmentNumber) -> Self {
        number.0
    }
}

crate::field_type!(
    ShipmentNumber => String,
    json!({ "type": "string", "minLength": 1, "maxLength": MAX_LEN }),
    in events json!({ "type": "string" }),
    filtered by FilterForm::text::<ShipmentNumber>("a tracking number")
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_number_can_be_read_aloud() {
        let number = String::from(ShipmentNumber::generate());
        assert_eq!(number.len(), 12);
        assert!(number.bytes().all(|character| ALPHABET.contains(&character)));
        assert_ne!(number, String::from(ShipmentNumber::generate()));
    }

    #[test]
    fn a_number_has_one_spelling() {
        let number = |typed: &str| ShipmentNumber::try_from(typed.to_owned()).map(String::from);
        assert_eq!(number(" 1z 999-a ").unwrap(), "1Z 999-A");
        assert_eq!((number(""), number("a\nb")), (Err(InvalidText::Empty), Err(InvalidText::Control)));
        assert_eq!(number(&"x".repeat(65)), Err(InvalidText::TooLong(64)));
    }
}
