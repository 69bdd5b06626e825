//! What is entered into a field of a form.

use serde_json::Value;

/// The longest text that is entered as one line, in characters.
const LINE: u64 = 255;

/// What is entered into a field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// One line of text.
    Line,
    /// Text of several lines.
    Text,
    /// A secret, which no response shows again.
    Secret,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Switch,
    /// One of these words.
    Choice(Vec<String>),
    /// Any of these words.
    Choices(Vec<String>),
    /// A point in time.
    Instant,
    /// A record, whose id has this prefix.
    Record(&'static str),
    /// Event names and groups of them (`order.*`).
    Events,
    /// Several values, one per line.
    List,
    /// A JSON array, of anything but texts.
    Array,
    /// A JSON object.
    Object,
}

impl Input {
    /// The input of values of this JSON Schema. A schema does not tell which record an id names.
    pub fn of(schema: &Value) -> Self {
        let words = |schema: &Value| -> Option<Vec<String>> {
            Some(schema["enum"].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        if let Some(words) = words(schema) {
            return Self::Choice(words);
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
        match kind {
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("boolean") => Self::Switch,
            Some("array") => match words(&schema["items"]) {
                Some(words) => Self::Choices(words),
                None if schema["items"]["type"] == "string" => Self::List,
                None => Self::Array,
            },
            Some("object") => Self::Object,
            _ if schema["format"] == "date-time" => Self::Instant,
            _ if schema["maxLength"].as_u64().is_some_and(|most| most > LINE) => Self::Text,
            _ => Self::Line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_tells_what_is_entered() {
        for (schema, input) in [
            (json!({ "type": "string", "maxLength": 5 }), Input::Line),
            (json!({ "type": "string", "maxLength": 10_000 }), Input::Text),
            (json!({ "type": "array", "items": { "type": "integer" } }), Input::Array),
            (json!({ "type": ["string", "null"], "enum": ["a", "b", null] }), Input::Choice(vec!["a".to_owned(), "b".to_owned()])),
            (json!({ "type": ["integer", "null"] }), Input::Integer),
            (json!({ "type": "number" }), Input::Number),
            (json!({ "type": "boolean" }), Input::Switch),
            (json!({ "type": ["string", "null"], "format": "date-time" }), Input::Instant),
            (json!({ "type": "array", "items": { "type": "string" } }), Input::List),
            (json!({ "type": "array", "items": { "enum": ["a"] } }), Input::Choices(vec!["a".to_owned()])),
            (json!({ "type": "object" }), Input::Object),
        ] {
            assert_eq!(Input::of(&schema), input, "{schema}");
        }
    }
}
