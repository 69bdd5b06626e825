//! What a schema says of each member, in words.

use serde_json::Value;

use crate::handbook::schema::{id_prefix, is_nullable, properties, required, resolved, types};
use crate::resources::Input;

/// How deep members within members are told.
const MAX_DEPTH: usize = 4;

/// A member of a body or an answer, or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it is: `text`, `list of texts`, `id (order_…)`.
    pub kind: String,
    /// How a value is entered.
    pub input: Input,
    /// Whether no answer shows it.
    pub write_only: bool,
    /// What a value must fulfil: `1 to 255 characters`.
    pub limits: Vec<String>,
    /// The values that are possible, if they are few.
    pub choices: Vec<String>,
    /// The value of a member that is missing, as JSON.
    pub default: Option<String>,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub sentence: String,
    /// The members within it.
    pub members: Vec<Self>,
}

impl Field {
    /// The members of an object.
    pub(super) fn members_of(document: &Value, schema: &Value) -> Vec<Self> {
        Self::within(document, schema, 0)
    }

    fn within(document: &Value, schema: &Value, depth: usize) -> Vec<Self> {
        if depth == MAX_DEPTH {
            return Vec::new();
        }
        let whole = resolved(document, schema);
        let needed: Vec<_> = required(&whole).collect();
        // What is always refused is told by its sentence alone, where there is one.
        let told = properties(&whole).filter(|(_, schema)| schema["not"].is_null());
        told.map(|(name, schema)| Self::of(document, name, schema, needed.contains(&name.as_str()), depth)).collect()
    }

    /// One member with this schema.
    pub(super) fn one(document: &Value, name: &str, schema: &Value, required: bool) -> Self {
        Self::of(document, name, schema, required, 0)
    }

    fn of(document: &Value, name: &str, schema: &Value, required: bool, depth: usize) -> Self {
        let whole = resolved(document, schema);
        let items = &whole["items"];
        let inner = if items.is_object() { items } else { &whole };
        let choices = |schema: &Value| schema["enum"].as_array().into_iter().flatten().filter(|one| !one.is_null()).map(plain).collect();
        Self {
            name: name.to_owned(),
            kind: kind(document, &whole),
            input: Input::of(&whole),
            write_only: whole["writeOnly"] == true,
            limits: limits(&whole).chain(items.is_object().then(|| limits(items)).into_iter().flatten()).collect(),
            choices: if items.is_object() { choices(items) } else { choices(&whole) },
            default: Some(&whole["default"]).filter(|default| !default.is_null()).map(Value::to_string),
            required,
            sentence: whole["description"].as_str().unwrap_or_default().to_owned(),
            members: Self::within(document, inner, depth + 1),
        }
    }
}

/// A text without quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn kind(document: &Value, schema: &Value) -> String {
    let words: Vec<_> = types(schema).into_iter().map(|kind| word(document, schema, kind)).collect();
    let mut words = match words.is_empty() {
        false => words.join(" or "),
        true if !schema["const"].is_null() => schema["const"].to_string(),
        true if schema["enum"].is_array() => "text".to_owned(),
        true => "any value".to_owned(),
    };
    if is_nullable(schema) {
        words.push_str(" or null");
    }
    words
}

fn word(document: &Value, schema: &Value, kind: &str) -> String {
    match (kind, schema["format"].as_str()) {
        ("string", Some("date-time")) => "instant (RFC 3339)".to_owned(),
        ("string", Some("date")) => "date".to_owned(),
        ("string", Some("uuid")) => "UUID".to_owned(),
        ("string", Some("uri")) => "URL".to_owned(),
        ("string", Some("email")) => "mail address".to_owned(),
        ("string", _) => match (id_prefix(schema), schema["x-refers-to"].as_str()) {
            (Some(prefix), _) => format!("id ({prefix}_…)"),
            (None, Some(kind)) => format!("id of {kind}"),
            (None, None) => "text".to_owned(),
        },
        ("integer", _) => "whole number".to_owned(),
        ("array", _) if schema["items"].is_object() => {
            format!("list of: {}", self::kind(document, &resolved(document, &schema["items"])))
        }
        ("array", _) => "list".to_owned(),
        (other, _) => other.to_owned(),
    }
}

fn limits(schema: &Value) -> impl Iterator<Item = String> + use<> {
    let range = |least: &str, most: &str, unit: &str| {
        let (least, most) = (&schema[least], &schema[most]);
        match (least.is_number(), most.is_number()) {
            (true, true) => Some(format!("{least} to {most}{unit}")),
            (true, false) => Some(format!("at least {least}{unit}")),
            (false, true) => Some(format!("at most {most}{unit}")),
            (false, false) => None,
        }
    };
    let pattern = schema["pattern"].as_str().filter(|_| id_prefix(schema).is_none()).map(|pattern| format!("matches {pattern}"));
    let access = [("readOnly", "only in answers"), ("writeOnly", "only in requests")];
    let access = access.into_iter().find(|(keyword, _)| schema[*keyword] == true).map(|(_, words)| words.to_owned());
    [
        range("minLength", "maxLength", " characters"),
        range("minimum", "maximum", ""),
        range("minItems", "maxItems", " entries"),
        pattern,
        access,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_is_told_in_words() {
        let schema = json!({
            "type": "object",
            "properties": {
                "label": { "type": "string", "minLength": 1, "maxLength": 20, "description": "The label text." },
                "mode": { "enum": ["sms", "email", null], "default": "sms" },
                "order": { "type": ["string", "null"], "pattern": "^order_[0-7][0-9a-hjkmnp-tv-z]{25}$" },
                "lines": { "type": "array", "maxItems": 5, "items": { "type": "object", "properties": { "sku": { "type": "string" } } } },
            },
            "required": ["label"],
        });
        let [label, mode, order, lines] = &Field::members_of(&json!({}), &schema)[..] else { panic!("four members") };
        assert_eq!((label.kind.as_str(), &label.limits[..], label.required), ("text", &["1 to 20 characters".to_owned()][..], true));
        assert_eq!((&mode.choices[..], mode.default.as_deref()), (&["sms".to_owned(), "email".to_owned()][..], Some("\"sms\"")));
        assert_eq!((order.kind.as_str(), order.limits.len()), ("id (order_…) or null", 0));
        assert_eq!((lines.kind.as_str(), lines.members[0].name.as_str()), ("list of: object", "sku"));
    }
}
