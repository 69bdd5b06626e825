//! How deep a body is nested. What is read here is stored and read again inside of other documents, such as events, and the parser reads 127 levels
//! at most.

use super::numbers::end_of_text;

/// The levels of a body, which leaves room for those around it.
const MAX_LEVELS: usize = 100;

/// Whether the body has more levels than are read again everywhere.
pub fn is_too_deep(json: &[u8]) -> bool {
    // Hardly any body has so many brackets at all, and these are counted quickly.
    if memchr::memchr2_iter(b'{', b'[', json).nth(MAX_LEVELS).is_none() {
        return false;
    }
    let (mut levels, mut at) = (0_usize, 0);
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_text(json, at),
            b'{' | b'[' => levels += 1,
            b'}' | b']' => levels = levels.saturating_sub(1),
            _ => {}
        }
        if levels > MAX_LEVELS {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_and_what_stands_in_texts_does_not() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(!is_too_deep(nested(100).as_bytes()) && is_too_deep(nested(101).as_bytes()));
        assert!(!is_too_deep(format!("[{}]", vec!["[]"; 200].join(",")).as_bytes()));
        assert!(!is_too_deep(format!("[\"{}\"]", "[\\\"".repeat(200)).as_bytes()));
    }
}
