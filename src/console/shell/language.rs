//! The languages of the console. The English text is the key of every other.

use std::collections::HashMap;
use std::sync::LazyLock;

/// English, a tab, German; one text per line.
const GERMAN: &str = include_str!("german.tsv");

static GERMAN_TEXTS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| GERMAN.lines().filter_map(|line| line.split_once('\t')).collect());

/// A language of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
}

impl Language {
    /// The language with this tag (`de`, `de-AT`).
    pub fn read(tag: &str) -> Option<Self> {
        match tag.trim().split(['-', ';']).next()?.to_ascii_lowercase().as_str() {
            "en" => Some(Self::English),
            "de" => Some(Self::German),
            _ => None,
        }
    }

    /// The tag.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The text in this language; the text itself if there is no translation, such as for the fields of declared kinds.
    pub fn translate(self, text: &str) -> &str {
        match self {
            Self::English => text,
            Self::German => GERMAN_TEXTS.get(text).copied().unwrap_or(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The texts between `before` and the next `"`.
    fn quoted<'a>(source: &'a str, before: &str) -> Vec<&'a str> {
        source.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    fn sources(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![fs::read_to_string(path).unwrap()] }).collect()
    }

    #[test]
    fn every_text_of_the_console_has_a_translation() {
        let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console"));
        let texts = sources.iter().flat_map(|source| [quoted(source, ".t(\""), quoted(source, ".say(\"")].concat());
        let missing: Vec<_> = texts.filter(|text| !GERMAN_TEXTS.contains_key(text)).collect();
        assert!(missing.is_empty(), "without a translation: {missing:#?}");
        assert!(quoted(&sources.concat(), ".t(\"").len() > 20);
    }

    #[test]
    fn every_text_stands_once_in_the_order_of_the_alphabet() {
        let key = |line: &'static str| {
            let text = line.split('\t').next().unwrap();
            (text.trim().to_lowercase(), text)
        };
        let keys: Vec<_> = GERMAN.lines().map(key).collect();
        for (one, next) in keys.iter().zip(&keys[1..]) {
            assert!(one < next, "{:?} has to stand once, after {:?}", one.1, next.1);
        }
    }

    #[test]
    fn a_translation_has_the_same_places_for_values() {
        for (english, german) in GERMAN_TEXTS.iter() {
            assert_eq!(english.matches("{}").count(), german.matches("{}").count(), "{english}");
        }
    }
}
