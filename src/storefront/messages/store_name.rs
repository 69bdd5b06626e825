//! What of a store's name can stand in a message: it was typed by somebody who did not think of segments and subject lines.

use deunicode::deunicode_char;

use crate::providers::sms::segment::Alphabet;

/// The longest name in a subject or a mail.
const LONGEST_IN_MAILS: usize = 80;

/// The longest name in a text, in units of its alphabet. Words are checked with a name of this length.
pub(super) fn longest_in_texts(alphabet: Alphabet) -> usize {
    match alphabet {
        Alphabet::Gsm => 40,
        Alphabet::Ucs2 => 20,
    }
}

/// The name for a text in `alphabet`. What the GSM alphabet lacks is spelled with what it has: one letter more would halve the segment.
pub(super) fn in_text(name: &str, alphabet: Alphabet) -> String {
    let mut spelled = String::new();
    for character in name.chars().map(visible) {
        match alphabet.units(character) {
            Some(_) => spelled.push(character),
            None => spelled.push_str(deunicode_char(character).unwrap_or_default()),
        }
    }
    // One ASCII character, the backtick, is not in the GSM alphabet.
    spelled.retain(|character| alphabet.units(character).is_some());
    let mut units = 0;
    let fits = |character: &char| {
        units += alphabet.units(*character).unwrap_or_default();
        units <= longest_in_texts(alphabet)
    };
    one_line(&spelled).chars().take_while(fits).collect::<String>().trim_end().to_owned()
}

/// The name for a mail.
pub(super) fn in_mail(name: &str) -> String {
    let line = one_line(&name.chars().map(visible).collect::<String>());
    line.chars().take(LONGEST_IN_MAILS).collect::<String>().trim_end().to_owned()
}

/// A character a reader sees, or a space: line ends, other control characters, and marks that turn the direction of what follows would
/// let a name write more than itself.
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
