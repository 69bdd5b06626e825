//! Texts with placeholders: `{code}` is replaced, all other braces are literal.
//!
//! This is not a template engine: there are no branches or loops, and a single pass over known names never interprets a value as a
//! template.

use std::borrow::Cow;
use std::mem;
use std::str::FromStr;

/// A text with placeholders of the enum `P`, which parses their names.
#[derive(Clone, Debug)]
pub struct Template<P>(Vec<Piece<P>>);

#[derive(Clone, Debug)]
enum Piece<P> {
    Words(String),
    Placeholder(P),
}

/// The text contains an unknown placeholder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{{{0}}} is not a placeholder here")]
pub struct UnknownPlaceholder(String);

impl<P: Copy + PartialEq + FromStr> Template<P> {
    /// Parses a text. A placeholder consists of lower-case letters and `_` in braces. Braces around anything else, as in JSON and
    /// style sheets, are literal.
    pub fn parse(text: &str) -> Result<Self, UnknownPlaceholder> {
        let (mut pieces, mut words, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            words.push_str(before);
            if let Some((name, behind)) = name(after) {
                let placeholder = name.parse().map_err(|_| UnknownPlaceholder(name.to_owned()))?;
                pieces.extend([Piece::Words(mem::take(&mut words)), Piece::Placeholder(placeholder)]);
                rest = behind;
            } else {
                words.push('{');
                rest = after;
            }
        }
        words.push_str(rest);
        pieces.push(Piece::Words(words));
        Ok(Self(pieces))
    }

    /// Whether the text contains the placeholder.
    pub fn has(&self, placeholder: P) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Placeholder(this) if *this == placeholder))
    }

    /// Replaces every placeholder. The caller must escape the values for the context of the text. Placeholders inside a value are
    /// not replaced.
    pub fn fill<'a>(&self, value: impl Fn(P) -> Cow<'a, str>) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Words(words) => text.push_str(words),
                Piece::Placeholder(placeholder) => text.push_str(&value(*placeholder)),
            }
        }
        text
    }
}

/// The placeholder's name and the text after it, if the text after a `{` starts with one.
fn name(text: &str) -> Option<(&str, &str)> {
    let (name, behind) = text.split_once('}')?;
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')).then_some((name, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Name;

    impl FromStr for Name {
        type Err = ();

        fn from_str(text: &str) -> Result<Self, ()> {
            if text == "name" { Ok(Self) } else { Err(()) }
        }
    }

    fn filled(text: &str, value: &str) -> String {
        Template::<Name>::parse(text).unwrap().fill(|Name| value.into())
    }

    #[test]
    fn only_words_in_braces_are_placeholders() {
        assert_eq!(filled(r#"{"to":"{name}"}"#, "Ada"), r#"{"to":"Ada"}"#);
        assert_eq!(filled("p { color: red } {} {{name}} {name", "Ada"), "p { color: red } {} {Ada} {name");
        assert_eq!(filled("", "Ada"), "");
        assert!(!Template::<Name>::parse("{}").unwrap().has(Name));
    }

    #[test]
    fn a_value_is_never_read_as_a_template() {
        assert_eq!(filled("{name}{name}", "{name}"), "{name}{name}");
    }

    #[test]
    fn unknown_placeholders_are_refused_by_name() {
        let refused = Template::<Name>::parse("Hello {nmae}").unwrap_err();
        assert_eq!(refused.to_string(), "{nmae} is not a placeholder here");
    }
}
