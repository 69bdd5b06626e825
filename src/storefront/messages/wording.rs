//! The checked wording of one purpose: it contains a code, has no unknown placeholder, and leaves room for any store name.

use std::borrow::Cow;
use std::str::FromStr;

use crate::kernel::template::{Template, UnknownPlaceholder};
use crate::providers::sms::segment::{self, Alphabet};
use crate::storefront::messages::draft::Draft;
use crate::storefront::messages::store_name::{self, Lettering};
use crate::storefront::purpose::CODE_LIFETIME;

/// No name is cut to fewer bytes.
const SHORTEST_NAME: usize = 12;

/// The messages of one purpose.
#[derive(Debug)]
pub(super) struct Wording {
    text: Template<Placeholder>,
    /// The alphabet of the text without the name.
    alphabet: Alphabet,
    subject: Template<Placeholder>,
    mail: Template<Placeholder>,
}

/// The reason why an entry is invalid.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Neither the file nor one that it overrides contains the entry.
    #[error("it is missing")]
    Missing,
    /// The entry has an unknown placeholder.
    #[error(transparent)]
    Placeholder(#[from] UnknownPlaceholder),
    /// The entry lacks a required placeholder.
    #[error("it does not contain {{{0}}}")]
    Lacks(&'static str),
    /// A subject has more than one line.
    #[error("it has more than one line")]
    Lines,
    /// The text does not fit into one segment.
    #[error("with a long store name it takes {length} units; one text holds at most {room}")]
    TooLong {
        /// The length of the text with the longest store name, in units of its alphabet.
        length: usize,
        /// The capacity of one segment, in units of the same alphabet.
        room: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Code,
    Store,
    Minutes,
}

impl FromStr for Placeholder {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "code" => Ok(Self::Code),
            "store" => Ok(Self::Store),
            "minutes" => Ok(Self::Minutes),
            _ => Err(()),
        }
    }
}

impl Wording {
    /// Checks the draft, or returns the key of the first invalid entry with the fault.
    pub(super) fn new(draft: &Draft) -> Result<Self, (&'static str, Fault)> {
        let (text, alphabet) = check_text(draft.text.as_deref()).map_err(|fault| ("text", fault))?;
        let subject = check_subject(draft.subject.as_deref()).map_err(|fault| ("subject", fault))?;
        let mail = check_mail(draft.mail.as_deref()).map_err(|fault| ("mail", fault))?;
        Ok(Self { text, alphabet, subject, mail })
    }

    /// The body of the text. It fits into one segment, or into two if the store's name is in a script of its own. With a `room` in bytes, the name is
    /// cut as far as that helps and the name still says something.
    pub(super) fn text(&self, code: &str, store: &str, room: Option<usize>) -> String {
        let rest = fill(&self.text, code, "");
        let names: &[&str] = if self.text.has(Placeholder::Store) { &[store] } else { &[] };
        let mut name = Lettering::of(self.alphabet, &rest, names).write(store);
        if let Some(room) = room {
            name = store_name::shortened(&name, room.saturating_sub(rest.len()).max(SHORTEST_NAME));
        }
        fill(&self.text, code, &name)
    }

    /// The subject of the mail: one line. `store` is a name for mails.
    pub(super) fn subject(&self, code: &str, store: &str) -> String {
        fill(&self.subject, code, store)
    }

    /// The body of the mail: paragraphs separated by empty lines. `store` is a name for mails.
    pub(super) fn mail(&self, code: &str, store: &str) -> String {
        fill(&self.mail, code, store)
    }
}

fn check_text(words: Option<&str>) -> Result<(Template<Placeholder>, Alphabet), Fault> {
    let template = check_coded(words)?;
    // Code and minutes are digits. A name in a script of its own makes another alphabet of it, and two segments.
    let alphabet = Alphabet::of(&fill(&template, "000000", ""));
    let longest_name = "x".repeat(store_name::longest_in_texts(alphabet));
    let (length, _) = segment::length(&fill(&template, "000000", &longest_name));
    match alphabet.segment() {
        room if length > room => Err(Fault::TooLong { length, room }),
        _ => Ok((template, alphabet)),
    }
}

pub(super) fn check_subject<P: Copy + PartialEq + FromStr>(words: Option<&str>) -> Result<Template<P>, Fault> {
    let words = given(words)?;
    if words.chars().any(char::is_control) {
        return Err(Fault::Lines);
    }
    Ok(Template::parse(words)?)
}

fn check_mail(words: Option<&str>) -> Result<Template<Placeholder>, Fault> {
    check_coded(words)
}

/// Parses wording that must contain a code.
fn check_coded(words: Option<&str>) -> Result<Template<Placeholder>, Fault> {
    let template = Template::parse(given(words)?)?;
    if template.has(Placeholder::Code) { Ok(template) } else { Err(Fault::Lacks("code")) }
}

pub(super) fn given(words: Option<&str>) -> Result<&str, Fault> {
    words.filter(|words| !words.trim().is_empty()).ok_or(Fault::Missing)
}

fn fill(template: &Template<Placeholder>, code: &str, store: &str) -> String {
    template.fill(|placeholder| match placeholder {
        Placeholder::Code => Cow::Borrowed(code),
        Placeholder::Store => Cow::Borrowed(store),
        Placeholder::Minutes => CODE_LIFETIME.num_minutes().to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        check_text(Some(text)).err().map(|fault| fault.to_string())
    }

    #[test]
    fn a_text_fits_one_segment_with_the_longest_name() {
        // 160 septets: 6 for the code, 40 for the name.
        assert_eq!(refused(&format!("{{code}}{{store}}{}", "x".repeat(114))), None);
        assert_eq!(
            refused(&format!("{{code}}{{store}}{}", "x".repeat(115))).unwrap(),
            "with a long store name it takes 161 units; one text holds at most 160"
        );
        assert!(refused(&format!("{{code}}{{store}}{}€", "x".repeat(113))).unwrap().contains("161"));
        assert_eq!(refused(&format!("{{code}}{{minutes}}{}", "ü".repeat(152))), None);
        // 70 units: 6 for the code, 20 for the name.
        assert_eq!(refused(&format!("{{code}}{{store}}{}", "ж".repeat(44))), None);
        assert!(refused(&format!("{{code}}{{store}}{}", "ж".repeat(45))).unwrap().contains("71 units; one text holds at most 70"));
        assert!(refused(&format!("{{code}}{{store}}{}ж", "x".repeat(44))).unwrap().contains("71 units; one text holds at most 70"));
        assert!(refused(&format!("{{code}}{{store}}{}", "👍".repeat(23))).unwrap().contains("72 units; one text holds at most 70"));
    }

    #[test]
    fn a_text_fits_one_segment_whatever_the_store_is_called_and_two_in_a_script_of_its_own() {
        let words = [format!("{{code}} {{store}}{}", "x".repeat(113)), format!("{{code}} {{store}}{}", "ж".repeat(43))];
        for words in words {
            let draft = Draft { text: Some(words), subject: Some("Hello".to_owned()), mail: Some("{code}".to_owned()) };
            let wording = Wording::new(&draft).unwrap();
            for (name, in_its_own) in [
                ("Größte Apotheke\r\n", false),
                ("€", false),
                ("Łódź", false),
                ("[]", false),
                ("{code}", false),
                ("Ａ", false),
                ("\u{0}", false),
                ("½", false),
                ("🍕 Napoli", false),
                ("ж", true),
                ("東京デパート", true),
                ("👍", true),
            ] {
                let text = wording.text("012345", &name.repeat(50), None);
                let most = if in_its_own && wording.alphabet == Alphabet::Gsm { 2 } else { 1 };
                assert!(segment::segments(&text) <= most && text.starts_with("012345 "), "{name}: {text}");
            }
        }
    }

    #[test]
    fn words_that_mean_nothing_are_refused() {
        assert_eq!(refused("Hello from {store}").unwrap(), "it does not contain {code}");
        assert_eq!(refused("{code} {shop}").unwrap(), "{shop} is not a valid placeholder here");
        assert!(matches!(check_subject::<Placeholder>(None), Err(Fault::Missing)));
        assert!(matches!(check_subject::<Placeholder>(Some(" ")), Err(Fault::Missing)));
        assert!(matches!(check_subject::<Placeholder>(Some("Hello\r\nBcc: x")), Err(Fault::Lines)));
        assert!(matches!(check_mail(Some("Hello")), Err(Fault::Lacks("code"))));
    }
}
