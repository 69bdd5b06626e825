//! A sentence of a problem, which a customer may read: English words and the values in their places.

use std::borrow::Cow;
use std::fmt;

use crate::kernel::problem::Language;

/// English words, with `{}` where a value stands. The words are the key of the other languages, so values that differ from request to
/// request are not part of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    words: Cow<'static, str>,
    values: Vec<String>,
}

impl Sentence {
    /// A sentence with as many values to come as it has places.
    pub fn new(words: &'static str) -> Self {
        Self { words: words.into(), values: Vec::new() }
    }

    /// Puts a value into the next place.
    pub fn with(mut self, value: impl fmt::Display) -> Self {
        self.values.push(value.to_string());
        self
    }

    /// The sentence in this language; in English if it has no translation.
    pub fn say(&self, language: Language) -> String {
        let mut said = String::new();
        let mut words = language.translate(&self.words);
        for value in &self.values {
            let Some((before, after)) = words.split_once("{}") else { break };
            said.extend([before, value]);
            words = after;
        }
        said + words
    }
}

/// In English.
impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl From<&'static str> for Sentence {
    fn from(words: &'static str) -> Self {
        Self::new(words)
    }
}

/// Words that are put together by the caller. They are translated if they are known as a whole.
impl From<String> for Sentence {
    fn from(words: String) -> Self {
        Self { words: words.into(), values: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_places_and_are_never_read_as_places() {
        let sentence = Sentence::new("{} is required.").with("{}");
        assert_eq!(sentence.to_string(), "{} is required.");
        assert_eq!(sentence.say(Language::German), "{} fehlt.");
        assert_eq!(Sentence::from("A body without fields is {}.").to_string(), "A body without fields is {}.");
        assert_eq!(Sentence::from("Nobody knows this.".to_owned()).say(Language::German), "Nobody knows this.");
    }
}
