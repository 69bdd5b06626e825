//! What a hook answers: `{"allow": true}`, or `{"allow": false, "reason": "…"}`.

use serde::Deserialize;
use serde_json::Value;

use crate::contact::is_blank;

/// The longest reason that a customer is shown, in characters.
const MAX_REASON_LEN: usize = 200;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Allowed,
    Refused {
        /// What the customer may be told.
        reason: Option<String>,
    },
}

/// The body is no answer.
#[derive(Debug, thiserror::Error)]
#[error("the response is not {{\"allow\": true}} or {{\"allow\": false}}")]
pub struct NotUnderstood(#[source] serde_json::Error);

#[derive(Deserialize)]
struct Said {
    allow: bool,
    /// Whatever it is, it does not turn a refusal into something else.
    #[serde(default)]
    reason: Value,
}

/// Reads an answer. What it has beside the two members is ignored.
pub fn read(body: &[u8]) -> Result<Answer, NotUnderstood> {
    let Said { allow, reason } = serde_json::from_slice(body).map_err(NotUnderstood)?;
    Ok(if allow { Answer::Allowed } else { Answer::Refused { reason: reason.as_str().and_then(cleaned) } })
}

/// The reason as one line of bounded length, without what is not seen or turns the direction of writing.
fn cleaned(reason: &str) -> Option<String> {
    let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let seen = reason.split(|c: char| c.is_whitespace() || c.is_control()).map(|word| word.replace(turns, ""));
    let words: Vec<_> = seen.filter(|word| !word.is_empty()).collect();
    let line: String = words.join(" ").chars().take(MAX_REASON_LEN).collect();
    (!is_blank(&line)).then(|| line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> Option<String> {
        match read(body.as_bytes()).unwrap() {
            Answer::Refused { reason } => reason,
            Answer::Allowed => panic!("{body} allows"),
        }
    }

    #[test]
    fn only_a_clear_word_is_an_answer() {
        assert_eq!(read(br#"{"allow":true,"reason":"x","more":1}"#).unwrap(), Answer::Allowed);
        for body in ["", "{}", "[]", "true", r#"{"allow":"true"}"#, r#"{"allow":1}"#, r#"{"allow":null}"#, r#"{"allow":true"#] {
            assert!(read(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_reason_is_one_short_line() {
        assert_eq!(refused(r#"{"allow":false,"reason":" We do\nnot\u0000deliver\u202e there. "}"#).unwrap(), "We do not deliver there.");
        assert_eq!(refused(&format!(r#"{{"allow":false,"reason":"{}"}}"#, "ü".repeat(500))).unwrap(), "ü".repeat(200));
        for reason in ["null", "7", "\"\"", "\" \\u200b\"", "{}"] {
            assert_eq!(refused(&format!(r#"{{"allow":false,"reason":{reason}}}"#)), None, "{reason}");
        }
        assert_eq!(refused(r#"{"allow":false}"#), None);
    }
}
