//! The part of a store's name that fits into a message. Store names are entered without regard to segments and subject lines.

use deunicode::deunicode_char;
use unicode_normalization::UnicodeNormalization;

use crate::providers::sms::segment::{Alphabet, SEVERAL};

/// The maximum length of a name in a subject or a mail, in characters.
const MAX_LEN_IN_MAILS: usize = 80;
/// No name in a text is cut to fewer units, whatever the wording leaves.
const SHORTEST_IN_TEXTS: usize = 10;

/// The maximum length of a name in a text, in units of the alphabet. The wording is checked with a name of this length.
pub(super) fn longest_in_texts(alphabet: Alphabet) -> usize {
    match alphabet {
        Alphabet::Gsm => 40,
        Alphabet::Ucs2 => 20,
    }
}

/// How names are written in one text.
///
/// A single character outside the GSM alphabet more than halves the capacity of a segment. So a text in that alphabet keeps it if its names can be
/// spelled in it: Latin letters lose their marks, and punctuation becomes plain. A name in another script has no other spelling that customers would
/// know. It is written as it is, and the whole text in UCS-2, in two segments at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lettering {
    alphabet: Alphabet,
    /// Of one name, in units.
    longest: usize,
}

impl Lettering {
    /// For a text with these names. `wording` is the alphabet of the rest of it.
    pub(super) fn of(wording: Alphabet, rest: &str, names: &[&str]) -> Self {
        let is_spelled = |name: &&str| spelled(name, wording).chars().all(|character| wording.units(character).is_some());
        if names.iter().all(is_spelled) {
            return Self { alphabet: wording, longest: longest_in_texts(wording) };
        }
        let alphabet = Alphabet::Ucs2;
        let room = (2 * alphabet.segment_of(SEVERAL)).saturating_sub(rest.encode_utf16().count());
        Self { alphabet, longest: room.clamp(SHORTEST_IN_TEXTS, longest_in_texts(alphabet)) }
    }

    /// A name, as far as it fits.
    pub(super) fn write(self, name: &str) -> String {
        let mut units = 0;
        let fits = |character: &char| {
            units += self.alphabet.units(*character).unwrap_or_default();
            units <= self.longest
        };
        spelled(name, self.alphabet).chars().take_while(fits).collect::<String>().trim_end().to_owned()
    }
}

/// A name as it can be spelled in an alphabet, without emoji. What has no spelling in it stays.
fn spelled(name: &str, alphabet: Alphabet) -> String {
    let mut spelled = String::new();
    for character in shown(name).chars() {
        match deunicode_char(character) {
            _ if alphabet.units(character).is_some() => spelled.push(character),
            // The backtick is the only printable ASCII character outside the GSM alphabet.
            Some(plain) if is_latin(character) => spelled.extend(plain.chars().filter(|plain| alphabet.units(*plain).is_some())),
            _ => spelled.push(character),
        }
    }
    one_line(&spelled)
}

/// The visible characters of a name, composed and without emoji; with emoji if it has nothing else.
fn shown(name: &str) -> String {
    let mut in_picture = false;
    let is_letter = |character: &char| {
        // A joiner between two pictures is a part of them. In some scripts it is a part of letters.
        in_picture = is_picture(*character) || in_picture && *character == '\u{200d}';
        !in_picture
    };
    let letters = one_line(&name.nfc().filter(is_letter).map(visible).collect::<String>());
    if letters.is_empty() { one_line(&name.nfc().map(visible).collect::<String>()) } else { letters }
}

/// Emoji and other pictures, and what makes an emoji of a character.
fn is_picture(character: char) -> bool {
    matches!(
        character,
        '\u{20e3}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{1f000}'..='\u{1faff}' | '\u{e0020}'..='\u{e007f}'
    )
}

/// Latin letters with their marks, punctuation, signs and full-width forms: what keeps its meaning in plain letters.
fn is_latin(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{24f}' | '\u{300}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}' | '\u{2000}'..='\u{22ff}' | '\u{fb00}'..='\u{fb06}'
            | '\u{ff01}'..='\u{ff5e}'
    )
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
pub(super) fn visible(character: char) -> char {
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

    fn in_text(name: &str, wording: Alphabet) -> String {
        Lettering::of(wording, "", &[name]).write(name)
    }

    #[test]
    fn a_name_is_spelled_in_the_alphabet_of_the_text_or_sent_in_its_own() {
        for (name, gsm, ucs2) in [
            ("Acme Shop", "Acme Shop", "Acme Shop"),
            ("Größte Bäckerei", "Größte Bäckerei", "Größte Bäckerei"),
            ("Łódź Café", "Lodz Café", "Łódź Café"),
            ("Cafe\u{301} do Ze\u{301}", "Café do Zé", "Café do Zé"),
            ("Ada’s – 24h", "Ada's - 24h", "Ada’s – 24h"),
            (" a\r\nBcc: x\t\u{202e}b ", "a Bcc: x b", "a Bcc: x b"),
            ("`Acme`", "Acme", "`Acme`"),
            ("Магазин", "Магазин", "Магазин"),
            ("東京デパート", "東京デパート", "東京デパート"),
            ("Łódź 東京", "Łódź 東京", "Łódź 東京"),
            ("متجر", "متجر", "متجر"),
        ] {
            assert_eq!(in_text(name, Alphabet::Gsm), gsm, "{name:?}");
            assert_eq!(in_text(name, Alphabet::Ucs2), ucs2, "{name:?}");
        }
    }

    #[test]
    fn emoji_are_dropped_unless_a_name_has_nothing_else() {
        for (name, written) in [
            ("🍕 Napoli", "Napoli"),
            ("Napoli 🍕🇮🇹", "Napoli"),
            ("👩\u{200d}🚀 Space ❤\u{fe0f} Shop ★", "Space Shop"),
            ("1\u{fe0f}\u{20e3} Shop", "1 Shop"),
            ("東京🗼デパート", "東京デパート"),
            ("🍕🍕", "🍕🍕"),
            ("\u{200b}", ""),
        ] {
            for wording in [Alphabet::Gsm, Alphabet::Ucs2] {
                assert_eq!(in_text(name, wording), written, "{name:?}");
            }
        }
        assert_eq!(Lettering::of(Alphabet::Gsm, "", &["🍕 Napoli"]).alphabet, Alphabet::Gsm);
    }

    #[test]
    fn a_name_is_cut_where_the_segments_would_end() {
        assert_eq!(in_text(&"x".repeat(200), Alphabet::Gsm).len(), 40);
        assert_eq!(in_text(&"€".repeat(200), Alphabet::Gsm).chars().count(), 20);
        assert_eq!(in_text(&"ж".repeat(200), Alphabet::Ucs2).chars().count(), 20);
        assert_eq!(in_text(&"👍".repeat(200), Alphabet::Ucs2).chars().count(), 10);
        // Two segments of 67 hold a hundred and twenty other characters and fourteen of a name.
        let name = "ж".repeat(200);
        for (rest, written) in [(0, 20), (114, 20), (120, 14), (160, 10)] {
            let lettering = Lettering::of(Alphabet::Gsm, &"x".repeat(rest), &["Acme", &name]);
            assert_eq!(lettering.write(&name).chars().count(), written, "{rest}");
        }
        assert_eq!(in_mail(&"ж\n".repeat(200)).chars().count(), 79);
    }
}
