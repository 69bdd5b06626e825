//! How a form asks for the fields of a record, for programs that draw forms instead of reading JSON Schemas.

use serde_json::Value;

use crate::resources::{FieldDoc, Input};

/// A field that requests may contain, as a form asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct FormField {
    /// The name of the field in the request body.
    pub name: String,
    /// The name for people: `License number`.
    pub label: String,
    /// The description of the field in the documentation.
    pub help: String,
    /// What is entered.
    pub input: Input,
    /// Whether a new record needs the field.
    pub required: bool,
    /// What a new record has if the field is missing; null if nothing is declared.
    pub default: Value,
}

/// The form that creates or changes a record: those of these fields that requests may contain, in the same order.
pub fn form(fields: &[FieldDoc]) -> Vec<FormField> {
    fields.iter().filter(|field| field.asked).map(FormField::of).collect()
}

impl FormField {
    fn of(field: &FieldDoc) -> Self {
        Self {
            name: field.name.to_string(),
            label: label(&field.name),
            help: field.sentence.to_string(),
            input: field.input.clone(),
            required: field.required,
            default: field.schema["default"].clone(),
        }
    }

    /// Whether no response shows the value again.
    pub fn is_secret(&self) -> bool {
        self.input == Input::Secret
    }
}

/// Words that people write in capitals.
const ABBREVIATIONS: [&str; 7] = ["api", "id", "jwks", "otp", "sms", "url", "uuid"];

/// The name of a field or kind for people: `license_number` is `License number`.
pub fn label(name: &str) -> String {
    let word = |word: &str| if ABBREVIATIONS.contains(&word) { word.to_uppercase() } else { word.to_owned() };
    let words = name.split('_').map(word).collect::<Vec<_>>().join(" ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_name_for_people() {
        for (name, shown) in
            [("license_number", "License number"), ("name", "Name"), ("api_version", "API version"), ("url", "URL"), ("", "")]
        {
            assert_eq!(label(name), shown);
        }
    }
}
