//! Text that nobody sees.

/// Whether a text shows nothing: it is empty, or has only blanks and characters without width.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || is_invisible(character))
}

/// Characters without width that are not whitespace: joiners, marks of direction, fillers, variation selectors and tags.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
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
