//! The length of a text in segments. A segment carries 160 septets of the GSM alphabet (3GPP TS 23.038) or 70 units of UCS-2. A
//! longer text is split into several segments, each of which is paid for and may arrive alone, and which carry somewhat less.

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

/// Any number of segments beyond one.
pub const SEVERAL: usize = 2;

impl Alphabet {
    /// The alphabet a text needs.
    pub fn of(text: &str) -> Self {
        if text.chars().all(|character| Self::Gsm.units(character).is_some()) { Self::Gsm } else { Self::Ucs2 }
    }

    /// The number of units in the only segment of a text.
    pub fn segment(self) -> usize {
        self.segment_of(1)
    }

    /// The number of units in each of so many segments. Of several, each has a header that says how they belong together (3GPP TS 23.040).
    pub fn segment_of(self, segments: usize) -> usize {
        match (self, segments) {
            (Self::Gsm, ..SEVERAL) => 160,
            (Self::Gsm, _) => 153,
            (Self::Ucs2, ..SEVERAL) => 70,
            (Self::Ucs2, _) => 67,
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

/// The number of segments that a text takes.
pub fn segments(text: &str) -> usize {
    match length(text) {
        (length, alphabet) if length <= alphabet.segment() => 1,
        (length, alphabet) => length.div_ceil(alphabet.segment_of(SEVERAL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_segments_carry_less_each() {
        for (text, expected) in [
            ("x".repeat(160), 1),
            ("x".repeat(161), 2),
            ("x".repeat(306), 2),
            ("x".repeat(307), 3),
            ("ж".repeat(70), 1),
            ("ж".repeat(71), 2),
            ("ж".repeat(134), 2),
            ("ж".repeat(135), 3),
        ] {
            assert_eq!(segments(&text), expected, "{}", text.chars().count());
        }
    }

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
