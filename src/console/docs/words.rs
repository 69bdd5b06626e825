//! Sentences of the documentation, whose code stands between backticks.

use std::fmt;

use askama::filters::HtmlSafe;

/// A sentence as HTML: escaped, with `<code>` for what stands between backticks.
#[derive(Clone, Debug)]
pub struct Words(pub String);

/// Writes nothing of the text unescaped.
impl HtmlSafe for Words {}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.0.split('`').collect();
        for (index, part) in parts.iter().enumerate() {
            // A backtick without a second one is a character like any other.
            match (index % 2 == 1, index + 1 == parts.len()) {
                (true, false) => write!(f, "<code>{}</code>", escaped(part))?,
                (true, true) => write!(f, "`{}", escaped(part))?,
                (false, _) => f.write_str(&escaped(part))?,
            }
        }
        Ok(())
    }
}

/// The text without characters that mean something in HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_nothing_is_an_element() {
        let written = |text: &str| Words(text.to_owned()).to_string();
        assert_eq!(written("Use `verify-email`, `x`."), "Use <code>verify-email</code>, <code>x</code>.");
        assert_eq!(written("<script>`<b>`"), "&lt;script&gt;<code>&lt;b&gt;</code>");
        assert_eq!(written("one ` alone"), "one ` alone");
    }
}
