//! Free text that people type.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::contact::is_blank;
use crate::resources::Input;

/// The reason why a text is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidText {
    /// The text is empty, or shows nothing.
    #[error("This may not be empty.")]
    Empty,
    /// The text is longer than the limit.
    #[error("This may have {0} characters at most.")]
    TooLong(usize),
    /// The text contains control characters.
    #[error("This may not contain control characters.")]
    Control,
}

/// One line of text: 1 to `MAX` characters, without leading or trailing whitespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Line<const MAX: usize>(String);

/// Text of several lines: 1 to `MAX` characters, without leading or trailing whitespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Text<const MAX: usize>(String);

fn text(typed: &str, max: usize, may_have: impl Fn(char) -> bool) -> Result<String, InvalidText> {
    let text = typed.trim();
    match text {
        _ if is_blank(text) => Err(InvalidText::Empty),
        _ if text.chars().any(|character| character.is_control() && !may_have(character)) => Err(InvalidText::Control),
        _ if text.chars().count() > max => Err(InvalidText::TooLong(max)),
        _ => Ok(text.to_owned()),
    }
}

impl<const MAX: usize> TryFrom<String> for Line<MAX> {
    type Error = InvalidText;

    fn try_from(typed: String) -> Result<Self, InvalidText> {
        text(&typed, MAX, |_| false).map(Self)
    }
}

impl<const MAX: usize> TryFrom<String> for Text<MAX> {
    type Error = InvalidText;

    fn try_from(typed: String) -> Result<Self, InvalidText> {
        text(&typed, MAX, |character| matches!(character, '\n' | '\r' | '\t')).map(Self)
    }
}

impl<const MAX: usize> From<Line<MAX>> for String {
    fn from(line: Line<MAX>) -> Self {
        line.0
    }
}

impl<const MAX: usize> From<Text<MAX>> for String {
    fn from(text: Text<MAX>) -> Self {
        text.0
    }
}

fn schema(max: usize) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max })
}

crate::field_type!(Line<MAX> => String, schema(MAX), in events json!({ "type": "string" }); for const MAX: usize);
crate::field_type!(Text<MAX> => String, schema(MAX), in events json!({ "type": "string" }), asked by Input::Text; for const MAX: usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::FieldType;

    #[test]
    fn lines_and_texts_are_trimmed_and_bounded() {
        let line = |typed: &str| Line::<5>::try_from(typed.to_owned()).map(String::from);
        assert_eq!(line(" äöüßé "), Ok("äöüßé".to_owned()));
        assert_eq!(line("123456"), Err(InvalidText::TooLong(5)));
        for blank in ["  ", "\u{200b}", "\u{feff} \u{200d}"] {
            assert_eq!(line(blank), Err(InvalidText::Empty), "{blank:?}");
        }
        for control in ["a\nb", "a\tb", "a\u{7f}b", "a\u{9b}b", "a\u{1b}b"] {
            assert_eq!(line(control), Err(InvalidText::Control), "{control:?}");
        }
        let text = |typed: &str| Text::<5>::try_from(typed.to_owned()).map(String::from);
        assert_eq!(text("a\r\n\tb\n"), Ok("a\r\n\tb".to_owned()));
        assert_eq!(text("a\u{1b}b"), Err(InvalidText::Control));
    }

    #[test]
    fn what_may_be_empty_need_not_be_sent_and_is_described_so() {
        assert_eq!(Line::<5>::initial(), None);
        assert_eq!(Option::<Line<5>>::initial(), Some(None));
        assert_eq!(Line::<5>::schema(), json!({ "type": "string", "minLength": 1, "maxLength": 5 }));
        assert_eq!(Option::<Line<5>>::schema(), json!({ "type": ["string", "null"], "minLength": 1, "maxLength": 5 }));
        assert_eq!(Option::<bool>::show(&None), Value::Null);
        assert_eq!(Option::<bool>::show(&Some(true)), Value::Bool(true));
    }
}
