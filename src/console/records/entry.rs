//! What a form asks for, and how what was entered becomes a body.
//!
//! What is entered into a field is a list of texts, as a browser sends it. [`drawn`] is what the untouched form of a record sends. A form
//! carries it along, so that only what somebody has changed is sent to the API: a field that shows less than it has (an instant without
//! its milliseconds, a value that is never shown) stays as it is.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime, Utc};
use serde_json::{Map, Number, Value, json};

use crate::console::addresses::list_address;
use crate::console::cell::pretty;
use crate::console::kinds::Kinds;
use crate::console::records::event_picker::{EventPicker, EventType};
use crate::kernel::json;
use crate::resources::{FormField, Input, KindDoc, form};

/// The value of `<input type="datetime-local">`, in UTC.
const LOCAL: &str = "%Y-%m-%dT%H:%M:%S";

/// What is entered into each field, by its name.
pub type Entered = BTreeMap<String, Vec<String>>;

/// Why what was entered is refused, by the name of the field.
pub type Errors = BTreeMap<String, Vec<String>>;

/// A field of a form with what is entered.
pub struct Entry {
    /// The declaration.
    pub field: FormField,
    /// The control.
    pub control: Control,
    /// What the field would send if nobody touched it, as JSON.
    pub was: String,
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
    /// A `<select>`: the words to send and to show, and whether each is chosen.
    Choice(Vec<(String, String, bool)>),
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

/// What the untouched form of `record` sends; `None` for a new record, with the defaults of its fields.
pub fn drawn(kind: &KindDoc, record: Option<&Value>) -> Entered {
    let value = |field: &FormField| record.map_or(field.default.clone(), |record| record[field.name.as_str()].clone());
    form(&kind.members).into_iter().map(|field| (field.name.clone(), draw(&field.input, &value(&field)))).collect()
}

fn draw(input: &Input, value: &Value) -> Vec<String> {
    let texts = || value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>();
    match (input, value) {
        (Input::Secret, _) | (_, Value::Null) if !matches!(input, Input::Choices(_) | Input::Events) => vec![String::new()],
        (Input::Choices(_), _) => texts(),
        (Input::Events, Value::Array(events)) if events.is_empty() => vec!["*".to_owned()],
        (Input::Events, _) => texts(),
        (Input::List, _) => vec![texts().join("\n")],
        (Input::Instant, Value::String(text)) => {
            vec![text.parse::<DateTime<Utc>>().map_or_else(|_| text.clone(), |instant| instant.format(LOCAL).to_string())]
        }
        (Input::Record(_), Value::Object(record)) => vec![record.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()],
        (Input::Object, Value::Object(members)) if members.is_empty() => vec![String::new()],
        (Input::Object | Input::Array, value) => vec![pretty(value)],
        (_, Value::String(text)) => vec![text.clone()],
        (_, other) => vec![other.to_string()],
    }
}

/// The fields of a form with what is entered, and what it was before.
pub fn entries(kind: &KindDoc, kinds: &Kinds, event_types: &[EventType], entered: &Entered, was: &Entered, errors: &Errors) -> Vec<Entry> {
    let entry = |field: FormField| {
        let (none, before) = (Vec::new(), was.get(&field.name));
        let control = Control::of(&field, kinds, event_types, entered.get(&field.name).unwrap_or(&none));
        let within = format!("{}.", field.name);
        let own = errors.iter().filter(|(name, _)| **name == field.name || name.starts_with(&within));
        let errors = own.flat_map(|(_, messages)| messages.clone()).collect();
        Entry { control, was: json!(before.unwrap_or(&none)).to_string(), errors, field }
    };
    form(&kind.members).into_iter().map(entry).collect()
}

impl Control {
    fn of(field: &FormField, kinds: &Kinds, event_types: &[EventType], entered: &[String]) -> Self {
        let text = entered.first().cloned().unwrap_or_default();
        let choice = |words: &[(&str, &str)]| {
            // What is missing can be left out, unless a new record needs it.
            let none = (!field.required || text.is_empty()).then_some(("", "–"));
            let all = none.into_iter().chain(words.iter().copied());
            Self::Choice(all.map(|(word, shown)| (word.to_owned(), shown.to_owned(), word == text)).collect())
        };
        match &field.input {
            Input::Secret => Self::Line { kind: "password", value: text },
            Input::Integer | Input::Number => Self::Line { kind: "number", value: text },
            Input::Instant => Self::Line { kind: "datetime-local", value: text },
            Input::Line if !text.contains('\n') => Self::Line { kind: "text", value: text },
            Input::Line | Input::Text => Self::Text { value: text, hint: "" },
            Input::List => Self::Text { value: text, hint: "One per line." },
            Input::Object => Self::Text { value: text, hint: "A JSON object." },
            Input::Array => Self::Text { value: text, hint: "A JSON array." },
            Input::Switch => choice(&[("true", "yes"), ("false", "no")]),
            Input::Choice(words) => choice(&words.iter().map(|word| (word.as_str(), word.as_str())).collect::<Vec<_>>()),
            Input::Choices(words) => Self::Choices(words.iter().map(|word| (word.clone(), entered.contains(word))).collect()),
            Input::Events => Self::Events(EventPicker::of(event_types, entered)),
            Input::Record(prefix) => Self::Record { value: text, list: kinds.with_prefix(prefix).map(list_address) },
        }
    }
}

/// A number with all of its digits.
fn number(line: &str) -> Option<Number> {
    json::parse(line.as_bytes()).ok()
}

/// The value that was entered; an error is a sentence for people.
pub fn read(field: &FormField, entered: &[String]) -> Result<Value, &'static str> {
    match field.input {
        Input::Events if entered.is_empty() => return Err("Choose at least one event, or all."),
        Input::Choices(_) | Input::Events => return Ok(json!(entered)),
        _ => {}
    }
    let text = entered.first().map_or("", String::as_str);
    let line = text.trim();
    if line.is_empty() {
        return Ok(match field.input {
            _ if field.required => return Err("This is required."),
            Input::List | Input::Array => json!([]),
            Input::Object => json!({}),
            _ => Value::Null,
        });
    }
    Ok(match &field.input {
        Input::Integer => number(line).filter(|number| !number.to_string().contains('.')).ok_or("This must be a whole number.")?.into(),
        Input::Number => number(line).ok_or("This must be a number.")?.into(),
        Input::Switch => (line == "true").into(),
        Input::Instant => NaiveDateTime::parse_from_str(line, LOCAL)
            .or_else(|_| NaiveDateTime::parse_from_str(line, "%Y-%m-%dT%H:%M"))
            .map_err(|_| "This must be a date and a time.")?
            .and_utc()
            .to_rfc3339()
            .into(),
        Input::List => text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Value::from).collect(),
        Input::Array => serde_json::from_str::<Vec<Value>>(text).map_err(|_| "This must be a JSON array.")?.into(),
        Input::Object => serde_json::from_str::<Map<String, Value>>(text).map_err(|_| "This must be a JSON object.")?.into(),
        Input::Text | Input::Secret => text.into(),
        Input::Line | Input::Choice(_) | Input::Choices(_) | Input::Events | Input::Record(_) => line.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(input: Input) -> FormField {
        FormField { name: "x".into(), label: "X".into(), help: String::new(), input, required: false, default: Value::Null }
    }

    #[test]
    fn what_is_drawn_is_read_back() {
        let words = || vec!["a".to_owned(), "b".to_owned()];
        for (input, value) in [
            (Input::Line, json!("a line")),
            (Input::Text, json!("two\nlines")),
            (Input::Integer, json!(7)),
            (Input::Number, json!(-7.5)),
            (Input::Switch, json!(true)),
            (Input::Switch, json!(false)),
            (Input::Switch, json!(null)),
            (Input::Choice(words()), json!("b")),
            (Input::Choices(words()), json!(["a", "b"])),
            (Input::List, json!(["a", "b"])),
            (Input::Array, json!([1, { "a": [] }])),
            (Input::Object, json!({ "a": { "b": 1 } })),
            (Input::Events, json!(["order.*", "driver.online"])),
            (Input::Record("driver"), json!("driver_01")),
            (Input::Instant, json!("2026-05-21T10:15:00+00:00")),
            (Input::Line, json!(null)),
        ] {
            assert_eq!(read(&field(input.clone()), &draw(&input, &value)), Ok(value), "{input:?}");
        }
    }

    #[test]
    fn a_secret_is_never_drawn_and_a_record_is_drawn_by_its_id() {
        assert_eq!(draw(&Input::Secret, &json!("whsec")), [""]);
        assert_eq!(draw(&Input::Record("driver"), &json!({ "id": "driver_01", "name": "Ada" })), ["driver_01"]);
        assert_eq!(draw(&Input::Events, &json!([])), ["*"]);
    }

    #[test]
    fn what_cannot_be_read_says_what_it_must_be() {
        for (input, text) in
            [(Input::Integer, "seven"), (Input::Number, "7,5"), (Input::Instant, "tomorrow"), (Input::Object, "[]"), (Input::Array, "{}")]
        {
            assert!(read(&field(input.clone()), &[text.to_owned()]).unwrap_err().starts_with("This must be"), "{input:?}");
        }
        assert_eq!(read(&field(Input::Events), &[]), Err("Choose at least one event, or all."));
        assert_eq!(read(&FormField { required: true, ..field(Input::Line) }, &[" ".to_owned()]), Err("This is required."));
    }
}
