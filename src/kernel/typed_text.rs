//! Text as people type and paste it: invisible characters, dashes of any kind, and digits of any script.
//!
//! Messengers wrap texts in marks of direction, keyboards have digits of other scripts, and a selection with the mouse may include a line end.
//! [`code_characters`] reads all codes that are typed: the characters that it drops are no part of a code, and cost no guess.

/// The digit zero of each script (Unicode, general category Nd). The nine others follow it.
const ZEROS: [char; 66] = [
    '\u{30}',
    '\u{660}',
    '\u{6f0}',
    '\u{7c0}',
    '\u{966}',
    '\u{9e6}',
    '\u{a66}',
    '\u{ae6}',
    '\u{b66}',
    '\u{be6}',
    '\u{c66}',
    '\u{ce6}',
    '\u{d66}',
    '\u{de6}',
    '\u{e50}',
    '\u{ed0}',
    '\u{f20}',
    '\u{1040}',
    '\u{1090}',
    '\u{17e0}',
    '\u{1810}',
    '\u{1946}',
    '\u{19d0}',
    '\u{1a80}',
    '\u{1a90}',
    '\u{1b50}',
    '\u{1bb0}',
    '\u{1c40}',
    '\u{1c50}',
    '\u{a620}',
    '\u{a8d0}',
    '\u{a900}',
    '\u{a9d0}',
    '\u{a9f0}',
    '\u{aa50}',
    '\u{abf0}',
    '\u{ff10}',
    '\u{104a0}',
    '\u{10d30}',
    '\u{11066}',
    '\u{110f0}',
    '\u{11136}',
    '\u{111d0}',
    '\u{112f0}',
    '\u{11450}',
    '\u{114d0}',
    '\u{11650}',
    '\u{116c0}',
    '\u{11730}',
    '\u{118e0}',
    '\u{11950}',
    '\u{11c50}',
    '\u{11d50}',
    '\u{11da0}',
    '\u{16a60}',
    '\u{16ac0}',
    '\u{16b50}',
    '\u{1d7ce}',
    '\u{1d7d8}',
    '\u{1d7e2}',
    '\u{1d7ec}',
    '\u{1d7f6}',
    '\u{1e140}',
    '\u{1e2f0}',
    '\u{1e950}',
    '\u{1fbf0}',
];

/// A digit of any script as an ASCII digit.
pub fn digit(character: char) -> Option<char> {
    let zero = ZEROS[ZEROS.partition_point(|zero| *zero <= character).checked_sub(1)?];
    char::from_digit(u32::from(character) - u32::from(zero), 10)
}

/// Characters without width that are not whitespace: joiners, marks of direction, fillers, variation selectors and tags.
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Dashes, hyphens and minus signs of any script, and what keyboards have in their place.
pub fn is_dash(character: char) -> bool {
    matches!(
        character,
        '-' | '\u{058a}' | '\u{05be}' | '\u{1400}' | '\u{1806}' | '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{2e17}'
            | '\u{2e1a}' | '\u{2e3a}'..='\u{2e3b}' | '\u{2e40}' | '\u{2e5d}' | '\u{301c}' | '\u{3030}' | '\u{30a0}' | '\u{30fc}'
            | '\u{fe31}'..='\u{fe32}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' | '\u{ff70}'
    )
}

/// The characters of a code as it was typed or pasted, without blanks, line ends, dashes and invisible characters. Digits of other scripts become
/// ASCII digits, and full-width letters become ASCII letters.
pub fn code_characters(typed: &str) -> impl Iterator<Item = char> {
    let is_part = |character: &char| {
        let is_left_out = character.is_whitespace() || character.is_control() || is_invisible(*character) || is_dash(*character);
        !is_left_out
    };
    typed.chars().filter(is_part).map(|character| digit(character).or_else(|| letter(character)).unwrap_or(character))
}

/// A full-width letter as an ASCII letter.
fn letter(character: char) -> Option<char> {
    let full_width = matches!(character, '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}');
    if full_width { char::from_u32(u32::from(character) - 0xfee0) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digit_of_any_script_is_a_digit() {
        assert!(ZEROS.is_sorted());
        for (script, expected) in [("0٠۰०৩０𝟎", "0000300"), ("9٩۹९๙９𝟗", "9999999"), ("߉༩", "99")] {
            assert_eq!(script.chars().map(|character| digit(character).unwrap()).collect::<String>(), expected);
        }
        for other in ['/', ':', 'a', '²', '½', '一', '\u{66a}', '\u{1d800}'] {
            assert_eq!(digit(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_code_is_read_without_what_comes_along_when_it_is_pasted() {
        let read = |typed: &str| code_characters(typed).collect::<String>();
        for typed in [
            "123456",
            " 123 456 ",
            "123456\r\n",
            "\t123456",
            "123\u{a0}456",
            "123\u{202f}456",
            "123-456",
            "123–456",
            "123\u{2011}456",
            "\u{2066}123456\u{2069}",
            "\u{200b}123456\u{feff}",
            "١٢٣٤٥٦",
            "۱۲۳۴۵۶",
            "１２３－４５６",
        ] {
            assert_eq!(read(typed), "123456", "{typed:?}");
        }
        assert_eq!(read("ｋ７qm—2XTD"), "k7qm2XTD");
        assert_eq!(read("12.34, é"), "12.34,é");
    }
}
