//! What a form asks for, and how what was entered becomes a body.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime, Utc};
use serde_json::{Map, Value};

use crate::console::cell::pretty;
use crate::console::addresses::list_address;
use crate::console::kinds::Kinds;
use crate::console::records::event_picker::{EventPicker, EventType};
use crate::resources::{FormField, Input, KindDoc, form};

/// A field of a form with what is entered.
pub struct Entry {
    /// The declaration.
    pub field: FormField,
    /// The control.
    pub control: Control,
    /// Why the value is refused.
    pub errors: Vec<String>,
}

/// What a field is entered with.
pub enum Control {
    /// An `<input>` of this type.
    Line {
        /// The type of the input.
        kind: &'static str,
        /// The value.
        value: String,
    },
    /// A `<textarea>`.
    Text {
        /// The value.
        value: String,
        /// The format, for people.
        hint: &'static str,
    },
    /// A checkbox.
    Switch(bool),
    /// A `<select>`; the words, and whether each is chosen.
    Choice(Vec<(String, bool)>),
    /// Checkboxes; the words, and whether each is chosen.
    Choices(Vec<(String, bool)>),
    /// Checkboxes for events, grouped by what they are about.
    Events(EventPicker),
    /// The id of another record.
    Record {
        /// The value.
        value: String,
        /// The list to find it in.
        list: Option<String>,
    },
}

/// The fields of a form for records of `kind`, filled in from `record`.
pub fn entries(
    kind: &KindDoc,
    kinds: &Kinds,
    event_types: &[EventType],
    record: &Value,
    errors: &BTreeMap<String, Vec<String>>,
) -> Vec<Entry> {
    let entry = |field: FormField| {
        let control = Control::of(&field.input, kinds, event_types, &record[field.name.as_str()]);
        let prefix = format!("{}.", field.name);
        let own = errors.iter().filter(|(name, _)| **name == field.name || name.starts_with(&prefix));
        let errors = own.flat_map(|(_, messages)| messages.clone()).collect();
        Entry { field, control, errors }
    };
    form(&kind.members).into_iter().map(entry).collect()
}

impl Control {
    fn of(input: &Input, kinds: &Kinds, event_types: &[EventType], value: &Value) -> Self {
        let text = match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let chosen = |words: &[String]| words.iter().map(|word| (word.clone(), contains(value, word))).collect();
        match input {
            Input::Line => Self::Line { kind: "text", value: text },
            Input::Secret => Self::Line { kind: "password", value: String::new() },
            Input::Integer | Input::Number => Self::Line { kind: "number", value: text },
            Input::Instant => Self::Line { kind: "datetime-local", value: as_local(&text) },
            Input::Text => Self::Text { value: text, hint: "" },
            Input::List => {
                let lines: Vec<_> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                Self::Text { value: lines.join("\n"), hint: "One per line." }
            }
            Input::Object => {
                // A text is one that could not be read.
                let value = match value {
                    Value::Object(members) if !members.is_empty() => pretty(value),
                    Value::String(text) => text.clone(),
                    _ => String::new(),
                };
                Self::Text { value, hint: "A JSON object." }
            }
            Input::Events => Self::Events(EventPicker::of(event_types, value)),
            Input::Switch => Self::Switch(value == &Value::Bool(true)),
            Input::Choice(words) => Self::Choice(chosen(words)),
            Input::Choices(words) => Self::Choices(chosen(words)),
            Input::Record(prefix) => {
                let value = value["id"].as_str().map_or(text, str::to_owned);
                Self::Record { value, list: kinds.with_prefix(prefix).map(list_address) }
            }
        }
    }
}

fn contains(value: &Value, word: &str) -> bool {
    value == word || value.as_array().is_some_and(|values| values.iter().any(|value| value == word))
}

/// An instant in the form of `<input type="datetime-local">`, in UTC.
fn as_local(text: &str) -> String {
    text.parse::<DateTime<Utc>>().map_or(String::new(), |instant| instant.format("%Y-%m-%dT%H:%M:%S").to_string())
}

/// The value that was entered. `None` leaves the field as it is; an error is a sentence for people.
pub fn read<'a>(field: &FormField, mut values: impl Iterator<Item = &'a str>, new: bool) -> Result<Option<Value>, &'static str> {
    if field.input == Input::Events {
        return Ok(Some(values.map(Value::from).collect()));
    }
    if let Input::Choices(words) = &field.input {
        let chosen = values.filter(|value| words.iter().any(|word| word == value));
        return Ok(Some(chosen.map(Value::from).collect()));
    }
    if field.input == Input::Switch {
        return Ok(Some(values.next().is_some().into()));
    }
    let text = values.next().unwrap_or_default();
    if text.trim().is_empty() {
        // The default of a new record applies to what was left empty, and a secret that was not entered again stays.
        let kept = new || field.is_secret() || field.required;
        return Ok(match field.input {
            _ if kept => None,
            Input::List => Some(Value::Array(Vec::new())),
            Input::Object => Some(Value::Object(Map::new())),
            _ => Some(Value::Null),
        });
    }
    let line = text.trim();
    Ok(Some(match &field.input {
        Input::Integer => line.parse::<i64>().map_err(|_| "This must be a whole number.")?.into(),
        Input::Number => line.parse::<f64>().map_err(|_| "This must be a number.")?.into(),
        Input::Instant => NaiveDateTime::parse_from_str(line, "%Y-%m-%dT%H:%M:%S")
            .or_else(|_| NaiveDateTime::parse_from_str(line, "%Y-%m-%dT%H:%M"))
            .map_err(|_| "This must be a date and a time.")?
            .and_utc()
            .to_rfc3339()
            .into(),
        Input::List => text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Value::from).collect(),
        Input::Object => match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(object) => object.into(),
            Err(_) => return Err("This must be a JSON object."),
        },
        Input::Text => text.replace("\r\n", "\n").into(),
        Input::Secret => text.into(),
        Input::Line | Input::Choice(_) | Input::Choices(_) | Input::Events | Input::Record(_) | Input::Switch => line.into(),
    }))
}
