//! A sentence in which every noun is a link.

use askama::Template;

use crate::console::cell::Cell;

/// Text and values in turn.
#[derive(Template)]
#[template(source = "{% for piece in pieces %}{{ piece }}{% endfor %}", ext = "html")]
pub struct Sentence {
    pieces: Vec<Cell>,
}

impl askama::filters::HtmlSafe for Sentence {}

impl Sentence {
    /// `text`, with the values in place of each `{}`.
    pub fn of(text: &str, values: impl IntoIterator<Item = Cell>) -> Self {
        let mut parts = text.split("{}");
        let mut pieces = vec![Cell::Text(parts.next().unwrap_or_default().to_owned())];
        for (value, part) in values.into_iter().zip(parts) {
            pieces.extend([value, Cell::Text(part.to_owned())]);
        }
        Self { pieces }
    }

    /// Adds another sentence.
    pub fn and(mut self, other: Self) -> Self {
        self.pieces.push(Cell::Text(" ".to_owned()));
        self.pieces.extend(other.pieces);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_their_places_and_are_escaped() {
        let link = Cell::Link { address: "/console/a".to_owned(), text: "<b>".to_owned() };
        let said = Sentence::of("Signed in with {} from {}.", [link, Cell::Text("::1".to_owned())]);
        let said = said.and(Sentence::of("It ended.", [])).render().unwrap();
        assert_eq!(said, r#"Signed in with <a href="/console/a" title="&#60;b&#62;">&#60;b&#62;</a> from ::1. It ended."#);
    }
}
