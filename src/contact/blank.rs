//! Text that nobody sees.

use crate::kernel::typed_text::is_invisible;

/// Whether a text shows nothing: it is empty, or has only blanks and characters without width.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || is_invisible(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_anything_to_see_is_blank() {
        for blank in ["", "        ", "\u{3000}", "\u{200b}", " \u{200d}\u{feff}\t", "\u{3164}", "\u{e0020}"] {
            assert!(is_blank(blank), "{blank:?}");
        }
        for visible in ["a", " . ", "\u{200b}x", "é", "👩\u{200d}🚀"] {
            assert!(!is_blank(visible), "{visible:?}");
        }
    }
}
