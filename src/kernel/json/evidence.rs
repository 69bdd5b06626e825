//! JSON that is evidence and not a request: a body that a gateway has signed is read as far as possible, whatever its unused members contain.

use serde::de::DeserializeOwned;

use super::{numbers, parse};

/// The levels of nesting that are read. Deeper ones are left out.
const MAX_LEVELS: usize = 100;
/// Replaces characters that are invalid, or that the database cannot keep.
const UNREADABLE: char = char::REPLACEMENT_CHARACTER;

/// Reads a body; `None` only if it is not JSON at all.
///
/// A byte order mark is left out, and bytes that are not UTF-8 are read as Latin-1. Halves of surrogate pairs and NUL become U+FFFD, and values
/// below a hundred levels become null, and so do `NaN` and `Infinity`. Numbers keep their digits, however large they are.
pub fn read_evidence<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    parse(bytes).ok().or_else(|| serde_json::from_str(&mended(&evidence_text(bytes))).ok())
}

/// The text of a body, as [`read_evidence`] reads it: without a byte order mark, and with bytes that are not UTF-8 as Latin-1.
pub fn evidence_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| char::from(*byte)));
    }
    text
}

/// The same JSON, as the parser takes it.
fn mended(json: &str) -> String {
    let (mut out, mut levels, mut rest) = (String::with_capacity(json.len()), 0_usize, json);
    while let Some(first) = rest.chars().next() {
        let begin = out.len();
        let mut after = &rest[first.len_utf8()..];
        match first {
            '-' | 'I' | 'N' if no_number(rest).is_some() => {
                out.push_str("null");
                after = no_number(rest).unwrap_or(after);
            }
            '"' => after = mend_text(after, &mut out),
            '-' | '0'..='9' => {
                let length = rest.bytes().position(|byte| !numbers::is_of_number(byte)).unwrap_or(rest.len());
                let number = &rest[..length];
                out.push_str(numbers::write_out(number.as_bytes()).ok().flatten().as_deref().unwrap_or(number));
                after = &rest[length..];
            }
            '{' | '[' => {
                levels += 1;
                out.push_str(if levels == MAX_LEVELS + 1 { "null" } else { &rest[..1] });
            }
            '\0' => {}
            other => out.push(other),
        }
        let is_left_out = levels > MAX_LEVELS + 1 || levels > MAX_LEVELS && !matches!(first, '{' | '[');
        if is_left_out {
            out.truncate(begin);
        }
        if matches!(first, '}' | ']') {
            levels = levels.saturating_sub(1);
        }
        rest = after;
    }
    out
}

/// What stands behind a word that some libraries write for a number that JSON does not have.
fn no_number(json: &str) -> Option<&str> {
    ["NaN", "Infinity", "-Infinity"].into_iter().find_map(|word| json.strip_prefix(word))
}

/// Adds the text that begins behind a quotation mark, and returns the rest.
fn mend_text<'a>(mut rest: &'a str, out: &mut String) -> &'a str {
    out.push('"');
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '"' => {
                out.push('"');
                return rest;
            }
            '\\' => rest = mend_escape(rest, out),
            '\0' => out.push(UNREADABLE),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    rest
}

/// Adds the escape that begins behind a backslash, and returns the rest.
fn mend_escape<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let hex = |text: &str| u16::from_str_radix(text, 16).ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let unit = |text: &str| text.strip_prefix('u').and_then(|text| hex(text.get(..4)?));
    match (rest.chars().next(), unit(rest)) {
        (_, Some(0xd800..0xdc00)) if rest[5..].strip_prefix('\\').and_then(unit).is_some_and(|low| (0xdc00..0xe000).contains(&low)) => {
            out.push('\\');
            out.push_str(&rest[..11]);
            &rest[11..]
        }
        (_, Some(0 | 0xd800..0xe000)) => {
            out.push(UNREADABLE);
            &rest[5..]
        }
        (Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't'), _) | (_, Some(_)) => {
            out.push('\\');
            out.push_str(&rest[..1]);
            &rest[1..]
        }
        // A backslash that escapes nothing.
        _ => {
            out.push_str("\\\\");
            rest
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_nobody_reads_hides_nothing_of_what_is_read() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for note in [
            r#""\ud83d""#,
            r#""\ude00 \ud83d\ude00""#,
            r#""a\u0000b""#,
            "\"a\0b\"",
            "1e999",
            "-1e-999",
            "NaN",
            "[-Infinity,Infinity]",
            "\"line\nline\"",
            r#""C:\path""#,
            r#""\uzzzz""#,
            &deep,
            &format!("{{\"a\":[{deep}]}}"),
        ] {
            for body in [format!("{{\"note\":{note},\"amount\":500}}"), format!("\u{feff}{{\"note\":{note},\"amount\":5e2}}")] {
                let value: Value = read_evidence(body.as_bytes()).unwrap_or_else(|| panic!("{note:.40}"));
                assert_eq!(value["amount"], json!(500), "{note:.40}");
                assert!(!value.to_string().contains("\\u0000"));
            }
        }
    }

    #[test]
    fn texts_keep_what_can_be_kept() {
        let read = |body: &[u8]| read_evidence::<Value>(body).unwrap();
        assert_eq!(read(br#"["a\ud83db", "\ud83d\ude00", 1e999]"#)[0], "a\u{fffd}b");
        assert_eq!(read(br#"["a\ud83db", "\ud83d\ude00", 1e999]"#)[1], "😀");
        assert_eq!(read(br#"["C:\path \\ \" \u00e9 \n", "\ud83d"]"#)[0], "C:\\path \\ \" é \n");
        assert_eq!(read(b"[\"M\xfcnchen\", \"M\xc3\xbcnchen\"]"), json!(["München", "München"]));
        assert_eq!(read(b"\xef\xbb\xbf{\"a\":1}"), json!({ "a": 1 }));
        assert_eq!(read(format!("[\"\\ud83d\",{}1{}]", "[".repeat(99), "]".repeat(99)).as_bytes())[1].to_string().len(), 199);
    }

    #[test]
    fn what_is_no_json_is_nothing() {
        for body in ["", "x", "{", "{\"a\":}", "\"a", "[1,]", "\"\\", "\"\\u", "\"\\ud83d\\u", "{]"] {
            assert_eq!(read_evidence::<Value>(body.as_bytes()), None, "{body}");
        }
    }
}
