//! The languages of the problems that customers read. The English sentence is the key of every other.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::kernel::languages::AcceptedLanguages;

/// English, a tab, German; one title or sentence per line.
const GERMAN: &str = include_str!("german.tsv");

static GERMAN_SENTENCES: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| GERMAN.lines().filter_map(|line| line.split_once('\t')).collect());

/// A language of problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// German.
    German,
}

impl Language {
    const ALL: [Self; 2] = [Self::English, Self::German];

    /// The one that the client prefers, or English.
    pub fn preferred(accepted: &AcceptedLanguages) -> Self {
        accepted.best_of(|tag| Self::ALL.into_iter().find(|language| language.tag() == tag.as_str())).unwrap_or_default()
    }

    /// The tag.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The sentence in this language; the sentence itself if there is no translation.
    pub fn translate(self, sentence: &str) -> &str {
        match self {
            Self::English => sentence,
            Self::German => GERMAN_SENTENCES.get(sentence).copied().unwrap_or(sentence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_stands_once_in_the_order_of_the_alphabet() {
        let key = |line: &'static str| {
            let sentence = line.split('\t').next().unwrap();
            (sentence.to_lowercase(), sentence)
        };
        let keys: Vec<_> = GERMAN.lines().map(key).collect();
        for (one, next) in keys.iter().zip(&keys[1..]) {
            assert!(one < next, "{:?} has to stand once, after {:?}", one.1, next.1);
        }
    }

    #[test]
    fn a_translation_has_the_same_places_for_values() {
        for (english, german) in GERMAN_SENTENCES.iter() {
            assert_eq!(english.matches("{}").count(), german.matches("{}").count(), "{english}");
        }
    }
}
