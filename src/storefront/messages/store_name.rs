//! The part of a store's name that fits into a message. Store names are entered without regard to segments and subject lines.

use deunicode::deunicode_char;

use crate::providers::sms::segment::Alphabet;

/// The maximum length of a name in a subject or a mail, in characters.
const MAX_LEN_IN_MAILS: usize = 80;

/// The maximum length of a name in a text, in units of the alphabet. The wording is checked with a name of this length.
pub(super) fn longest_in_texts(alphabet: Alphabet) -> usize {
    match alphabet {
        Alphabet::Gsm => 40,
        Alphabet::Ucs2 => 20,
    }
}

/// The name for a text in `alphabet`. Characters outside the GSM alphabet are transliterated: a single one would more than halve
/// the capacity of the segment.
pub(super) fn in_text(name: &str, alphabet: Alphabet) -> String {
    let mut spelled = String::new();
    for character in name.chars().map(visible) {
        match alphabet.units(character) {
            Some(_) => spelled.push(character),
            None => spelled.push_str(deunicode_char(character).unwrap_or_default()),
        }
    }
    // The backtick is the only printable ASCII character outside the GSM alphabet.
    spelled.retain(|character| alphabet.units(character).is_some());
    let mut units = 0;
    let fits = |character: &char| {
        units += alphabet.units(*character).unwrap_or_default();
        units <= longest_in_texts(alphabet)
    };
    one_line(&spelled).chars().take_while(fits).collect::<String>().trim_end().to_owned()
}

/// The beginning of a name that fits into so many bytes.
pub(super) fn shortened(name: &str, bytes: usize) -> String {
    name[..name.floor_char_boundary(bytes)].trim_end().to_owned()
}

/// The name for a mail.
pub(super) fn in_mail(name: &str) -> String {
    let line = one_line(&name.chars().map(visible).collect::<String>());
    line.chars().take(MAX_LEN_IN_MAILS).collect::<String>().trim_end().to_owned()
}

/// Replaces invisible characters by a space. Line breaks, other control characters and bidirectional formatting characters could
/// change the text around the name.
fn visible(character: char) -> char {
    match character {
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => ' ',
        control if control.is_control() => ' ',
        visible => visible,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_spelled_in_the_alphabet_of_the_text() {
        for (name, gsm, ucs2) in [
            ("Acme Shop", "Acme Shop", "Acme Shop"),
            ("Größte Bäckerei", "Größte Bäckerei", "Größte Bäckerei"),
            ("Łódź Café", "Lodz Café", "Łódź Café"),
            ("Магазин", "Magazin", "Магазин"),
            ("Ada’s – 24h", "Ada's - 24h", "Ada’s – 24h"),
            (" a\r\nBcc: x\t\u{202e}b ", "a Bcc: x b", "a Bcc: x b"),
            ("`Acme`", "Acme", "`Acme`"),
        ] {
            assert_eq!(in_text(name, Alphabet::Gsm), gsm, "{name:?}");
            assert_eq!(in_text(name, Alphabet::Ucs2), ucs2, "{name:?}");
        }
    }

    #[test]
    fn a_name_is_cut_where_the_segment_would_end() {
        assert_eq!(in_text(&"x".repeat(200), Alphabet::Gsm).len(), 40);
        assert_eq!(in_text(&"€".repeat(200), Alphabet::Gsm).chars().count(), 20);
        assert_eq!(in_text(&"ж".repeat(200), Alphabet::Ucs2).chars().count(), 20);
        assert_eq!(in_text(&"👍".repeat(200), Alphabet::Ucs2).chars().count(), 10);
        assert_eq!(in_mail(&"ж\n".repeat(200)).chars().count(), 79);
    }
}
