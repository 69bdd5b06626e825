//! A value as text of one line.

use chrono::DateTime;
use serde_json::Value;

/// Empty for what has no value. Instants are shown to the second; control characters are replaced, because a terminal would obey them.
pub fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => match DateTime::parse_from_rfc3339(text) {
            Ok(instant) => instant.to_utc().format("%Y-%m-%d %H:%M:%SZ").to_string(),
            Err(_) => text.clone(),
        },
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(","),
        Value::Object(members) if members.is_empty() => String::new(),
        other => other.to_string(),
    };
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_one_line_that_a_terminal_only_shows() {
        for (value, shown) in [
            (json!(null), ""),
            (json!({}), ""),
            (json!([]), ""),
            (json!(["order.*", 7]), "order.*,7"),
            (json!(true), "true"),
            (json!("2026-11-24T23:22:09.461+00:00"), "2026-11-24 23:22:09Z"),
            (json!("2026-11-24T23:22:09+01:00"), "2026-11-24 22:22:09Z"),
            (json!("red\u{1b}[31m\nalert"), "red [31m alert"),
        ] {
            assert_eq!(cell(&value), shown, "{value}");
        }
    }
}
