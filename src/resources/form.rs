//! How a form asks for the fields of a record, for programs that draw forms instead of reading JSON Schemas.

use serde_json::Value;

use crate::resources::FieldDoc;

/// A field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct FormField {
    /// The name of the field in the request body.
    pub name: String,
    /// The name for people: `License number`.
    pub label: String,
    /// The description.
    pub help: String,
    /// What is entered.
    pub input: Input,
    /// Whether a new record needs the field.
    pub required: bool,
}

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
    /// A point in time.
    Instant,
    /// A record, whose id has this prefix.
    Record(&'static str),
    /// Several values, one per line.
    List,
    /// A JSON object.
    Object,
}

impl Input {
    /// The input of values of this JSON Schema. A schema does not tell whether a text has several lines, or which record an id names.
    pub fn of(schema: &Value) -> Self {
        if let Some(words) = schema["enum"].as_array() {
            return Self::Choice(words.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
        match kind {
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("boolean") => Self::Switch,
            Some("array") => Self::List,
            Some("object") => Self::Object,
            _ if schema["format"] == "date-time" => Self::Instant,
            _ => Self::Line,
        }
    }
}

/// The form that creates or changes a record with these fields.
pub fn form(fields: &[FieldDoc]) -> Vec<FormField> {
    fields.iter().filter(|field| field.writable).map(FormField::of).collect()
}

impl FormField {
    fn of(field: &FieldDoc) -> Self {
        Self {
            name: field.name.to_string(),
            label: label(&field.name),
            help: field.sentence.to_string(),
            input: field.input.clone(),
            required: field.required,
        }
    }

    /// Whether no response shows the value again.
    pub fn is_secret(&self) -> bool {
        self.input == Input::Secret
    }
}

/// `License number`
fn label(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_tells_what_is_entered() {
        for (schema, input) in [
            (json!({ "type": "string", "maxLength": 5 }), Input::Line),
            (json!({ "type": ["string", "null"], "enum": ["a", "b", null] }), Input::Choice(vec!["a".to_owned(), "b".to_owned()])),
            (json!({ "type": ["integer", "null"] }), Input::Integer),
            (json!({ "type": "number" }), Input::Number),
            (json!({ "type": "boolean" }), Input::Switch),
            (json!({ "type": ["string", "null"], "format": "date-time" }), Input::Instant),
            (json!({ "type": "array" }), Input::List),
            (json!({ "type": "object" }), Input::Object),
        ] {
            assert_eq!(Input::of(&schema), input, "{schema}");
        }
    }

    #[test]
    fn a_label_is_the_name_for_people() {
        assert_eq!((label("license_number"), label("name"), label("")), ("License number".into(), "Name".into(), String::new()));
    }
}
