//! The length of a text in segments. A segment carries 160 septets of the GSM alphabet (3GPP TS 23.038) or 70 units of UCS-2. A
//! longer text is split into several segments, each of which is paid for and may arrive alone.

/// The encoding of a text. A single character outside the GSM alphabet turns the whole text into UCS-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Seven bits per unit. Some characters take two units.
    Gsm,
    /// Sixteen bits per unit. Characters beyond the first 65,536 take two units.
    Ucs2,
}

const GSM: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿\
                   abcdefghijklmnopqrstuvwxyzäöñüà";
/// The characters of the extension table. Each is preceded by an escape and takes two units.
const GSM_EXTENSION: &str = "\u{c}^{}\\[~]|€";

impl Alphabet {
    /// The alphabet a text needs.
    pub fn of(text: &str) -> Self {
        if text.chars().all(|character| Self::Gsm.units(character).is_some()) { Self::Gsm } else { Self::Ucs2 }
    }

    /// The number of units in one segment.
    pub fn segment(self) -> usize {
        match self {
            Self::Gsm => 160,
            Self::Ucs2 => 70,
        }
    }

    /// The number of units of a character. `None` if the alphabet lacks it.
    pub fn units(self, character: char) -> Option<usize> {
        match self {
            Self::Gsm if GSM.contains(character) => Some(1),
            Self::Gsm if GSM_EXTENSION.contains(character) => Some(2),
            Self::Gsm => None,
            Self::Ucs2 => Some(character.len_utf16()),
        }
    }
}

/// The number of units that a text takes in the alphabet it needs, and that alphabet.
pub fn length(text: &str) -> (usize, Alphabet) {
    let alphabet = Alphabet::of(text);
    (text.chars().filter_map(|character| alphabet.units(character)).sum(), alphabet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_has_127_characters_and_ten_more_that_take_two() {
        assert_eq!(GSM.chars().count(), 127);
        assert_eq!(GSM_EXTENSION.chars().count(), 10);
        assert!(GSM_EXTENSION.chars().all(|character| !GSM.contains(character)));
    }

    #[test]
    fn lengths_are_those_on_the_air() {
        for (text, expected) in [
            ("", (0, Alphabet::Gsm)),
            ("Größe: 5 €", (11, Alphabet::Gsm)),
            ("[a] {b} ~ ^ | \\", (23, Alphabet::Gsm)),
            ("ΓΔΘ", (3, Alphabet::Gsm)),
            ("αβγ", (3, Alphabet::Ucs2)),
            ("ç", (1, Alphabet::Ucs2)),
            ("Код 123456", (10, Alphabet::Ucs2)),
            ("123456 €", (9, Alphabet::Gsm)),
            ("👍 1", (4, Alphabet::Ucs2)),
            ("it’s", (4, Alphabet::Ucs2)),
        ] {
            assert_eq!(length(text), expected, "{text:?}");
        }
    }
}
