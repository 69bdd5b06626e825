//! A value, as people read it.

use askama::Template;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::console::addresses::{HOME, record_address, request_address};
use crate::console::kinds::Kinds;
use crate::console::shell::{Moment, Ui};
use crate::resources::{FieldDoc, Input};

/// A value, as people read it.
#[derive(Template)]
#[template(path = "cell.html")]
pub enum Cell {
    /// Nothing.
    Empty,
    /// Text or a number.
    Text(String),
    /// Another record.
    Link {
        /// Its page.
        address: String,
        /// Its name.
        text: String,
    },
    /// An instant.
    Moment(Moment),
    /// Yes or no.
    Flag(&'static str),
    /// One of a few words, with what it means for somebody who looks for trouble.
    Word {
        /// The word.
        word: String,
        /// `good`, `bad`, `waiting` or `off`.
        tone: &'static str,
    },
    /// Several values.
    Several(Vec<Cell>),
    /// Structured data.
    Json(String),
}

impl askama::filters::HtmlSafe for Cell {}

impl Cell {
    /// The value of a field.
    pub fn of(ui: &Ui, kinds: &Kinds, field: &FieldDoc, value: &Value) -> Self {
        match value {
            Value::String(text) if field.input == Input::Instant => Self::instant(ui, text),
            Value::String(text) if matches!(field.input, Input::Choice(_)) => Self::word(ui, text),
            // To all that followed from the request. The portal does not tell of requests.
            Value::String(text) if field.name == "request_id" && ui.home == HOME => {
                Self::Link { address: request_address(text), text: text.clone() }
            }
            other => Self::plain(ui, kinds, other),
        }
    }

    /// A value of which nothing is declared.
    pub fn plain(ui: &Ui, kinds: &Kinds, value: &Value) -> Self {
        match value {
            Value::Null => Self::Empty,
            Value::Bool(flag) => Self::Flag(ui.t(if *flag { "yes" } else { "no" })),
            Value::Number(number) => Self::Text(number.to_string()),
            Value::String(text) if text.is_empty() => Self::Empty,
            Value::String(text) => match kinds.of_id(text) {
                Some(kind) => Self::Link { address: record_address(kind, text), text: text.clone() },
                None if is_timestamp(text) => Self::instant(ui, text),
                None => Self::Text(text.clone()),
            },
            Value::Array(values) if values.is_empty() => Self::Empty,
            Value::Array(values) if values.iter().all(|value| !value.is_object() && !value.is_array()) => {
                Self::Several(values.iter().map(|value| Self::plain(ui, kinds, value)).collect())
            }
            Value::Object(members) if members.is_empty() => Self::Empty,
            Value::Object(members) => match members.get("id").and_then(Value::as_str).and_then(|id| Some((id, kinds.of_id(id)?))) {
                Some((id, kind)) => {
                    let name = members.get("name").and_then(Value::as_str).unwrap_or(id);
                    Self::Link { address: record_address(kind, id), text: name.to_owned() }
                }
                None => Self::Json(pretty(value)),
            },
            Value::Array(_) => Self::Json(pretty(value)),
        }
    }

    fn instant(ui: &Ui, text: &str) -> Self {
        match text.parse::<DateTime<Utc>>() {
            Ok(instant) => Self::Moment(ui.at(&instant)),
            Err(_) => Self::Text(text.to_owned()),
        }
    }

    /// One of the words of a state, in the language of the page.
    pub fn word(ui: &Ui, word: &str) -> Self {
        let tone = match word {
            "delivered" | "enabled" | "active" | "succeeded" | "sent" | "completed" | "resolved" | "processed" | "signed in" | "proven"
            | "used" => "good",
            "failed" | "undelivered" | "failing" | "refused" | "banned" | "rejected" | "wrong" | "locked" | "disputed" => "bad",
            "pending" | "retrying" | "sending" | "waiting" | "paused" | "started" | "dispatched" | "open" => "waiting",
            _ => "off",
        };
        Self::Word { word: ui.word(word), tone }
    }
}

fn is_timestamp(text: &str) -> bool {
    (20..=35).contains(&text.len()) && text.as_bytes()[4] == b'-' && text.as_bytes()[10] == b'T'
}

/// JSON for people.
pub fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value can always be written")
}
