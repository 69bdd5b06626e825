//! Whether records that fit an older schema also fit a newer one.
//!
//! The schemas contain no `$ref`, so each keyword only concerns its own location. A keyword counts as wider only by the rules
//! below; everything else must stay unchanged.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The reason why a schema is incompatible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member}: {reason}")]
pub struct Incompatible {
    /// The path of the field, such as `address.city`.
    pub member: String,
    /// The change.
    pub reason: String,
}

/// The keyword in the schema of a reference that names the referenced kind, so that a change of the kind is a change of the schema.
pub(super) const REFERS_TO: &str = "x-refers-to";
/// Keywords that are only annotations.
pub(super) const REMARKS: [&str; 8] = ["$schema", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly"];
/// Keywords that can be removed without narrowing any other keyword.
#[rustfmt::skip]
const DROPPABLE: [&str; 18] = [
    "type", "enum", "const", "format", "pattern", "multipleOf", "uniqueItems", "minimum", "exclusiveMinimum", "minLength", "minItems",
    "minProperties", "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", REFERS_TO,
];
/// Bounds that may be widened: the first list upwards, the second downwards.
const UPPER: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const LOWER: [&str; 5] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];

/// Whether two schemas are equal apart from annotations.
pub fn is_same(before: &Value, after: &Value) -> bool {
    bare(before) == bare(after)
}

/// The schema without annotations. Field names are not keywords.
fn bare(schema: &Value) -> Value {
    let Value::Object(keywords) = schema else { return schema.clone() };
    let kept = keywords.iter().filter(|(keyword, _)| !REMARKS.contains(&keyword.as_str()));
    let bared = kept.map(|(keyword, value)| {
        let value = match (keyword.as_str(), value) {
            ("properties", Value::Object(members)) => members.iter().map(|(name, member)| (name.clone(), bare(member))).collect(),
            ("items", item) => bare(item),
            (_, value) => value.clone(),
        };
        (keyword.clone(), value)
    });
    bared.collect()
}

/// Returns an error unless everything that fits `before` fits `after`. The check is conservative: a change that is not known to be
/// wider is rejected.
pub fn compare(before: &Value, after: &Value) -> Result<(), Incompatible> {
    schemas("", before, after)
}

fn schemas(member: &str, before: &Value, after: &Value) -> Result<(), Incompatible> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        let wider = before == after || *before == Value::Bool(false) || *after == Value::Bool(true);
        return if wider { Ok(()) } else { refuse(member, "its schema is another one") };
    };
    properties(member, before, after)?;
    required(member, before, after)?;
    let keywords: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for keyword in keywords {
        match (keyword.as_str(), before.get(keyword), after.get(keyword)) {
            // Checked above.
            ("properties" | "required", ..) => {}
            (_, was, is) if was == is => {}
            (remark, ..) if REMARKS.contains(&remark) => {}
            (keyword, Some(_), None) if DROPPABLE.contains(&keyword) => {}
            ("items", Some(was), Some(is)) => schemas(&format!("{member}[]"), was, is)?,
            ("additionalProperties", Some(was), Some(is)) if *was == Value::Bool(false) || *is == Value::Bool(true) => {}
            ("enum", Some(was), Some(is)) if is_wider_list(was, is) => {}
            ("enum", Some(_), Some(_)) => return refuse(member, "a value that was allowed is not"),
            ("type", Some(was), Some(is)) if is_wider_list(was, is) => {}
            ("type", Some(_), Some(_)) => return refuse(member, "its type is another one"),
            (bound, Some(was), Some(is)) if UPPER.contains(&bound) && is_above(is, was) => {}
            (bound, Some(was), Some(is)) if LOWER.contains(&bound) && is_above(was, is) => {}
            (keyword, ..) => return refuse(member, format!("{keyword} is new, or not known to be wider than before")),
        }
    }
    Ok(())
}

fn refuse<T>(member: &str, reason: impl Into<String>) -> Result<T, Incompatible> {
    Err(Incompatible { member: if member.is_empty() { "the record".to_owned() } else { member.to_owned() }, reason: reason.into() })
}

fn within(member: &str, name: &str) -> String {
    if member.is_empty() { name.to_owned() } else { format!("{member}.{name}") }
}

fn properties(member: &str, before: &Map<String, Value>, after: &Map<String, Value>) -> Result<(), Incompatible> {
    let of = |schema: &Map<String, Value>| schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let (was, is) = (of(before), of(after));
    for (name, schema) in &was {
        match is.get(name) {
            Some(after) => schemas(&within(member, name), schema, after)?,
            None => return refuse(&within(member, name), "it is gone, and records may have it"),
        }
    }
    // If arbitrary fields were allowed before, stored records may have a field of this name with any value.
    let closed = before.get("additionalProperties") == Some(&Value::Bool(false)) && !before.contains_key("patternProperties");
    match is.keys().find(|name| !was.contains_key(*name)) {
        Some(new) if !closed => refuse(&within(member, new), "it is new where members of any name were allowed"),
        _ => Ok(()),
    }
}

fn required(member: &str, before: &Map<String, Value>, after: &Map<String, Value>) -> Result<(), Incompatible> {
    let of = |schema: &Map<String, Value>| -> BTreeSet<String> {
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    match of(after).difference(&of(before)).next() {
        Some(name) => refuse(&within(member, name), "it is required, and records may lack it"),
        None => Ok(()),
    }
}

/// Compares lists of types or values. A single value is a list of one, and `integer` is contained in `number`.
fn is_wider_list(was: &Value, is: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let is = list(is);
    list(was).iter().all(|value| is.contains(value) || value == "integer" && is.contains(&"number".into()))
}

fn is_above(this: &Value, that: &Value) -> bool {
    this.as_f64().zip(that.as_f64()).is_some_and(|(this, that)| this > that)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(properties: Value, required: Value) -> Value {
        json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
    }

    #[test]
    fn what_only_adds_is_compatible() {
        let inner = json!({ "type": "array", "items": { "type": "integer", "minimum": 1 }, "maxItems": 3 });
        let before = object(json!({ "a": { "type": "string", "maxLength": 5 }, "b": { "enum": ["x"] }, "c": inner }), json!(["a"]));
        let with = |member: &str, schema: Value| {
            let mut after = before.clone();
            after["properties"][member] = schema;
            after
        };
        for after in [
            before.clone(),
            with("a", json!({ "type": "string", "maxLength": 9 })),
            with("a", json!({ "type": ["string", "null"], "maxLength": 5, "description": "A." })),
            with("a", json!({})),
            with("b", json!({ "enum": ["y", "x"] })),
            with("c", json!({ "type": "array", "items": { "type": "number", "minimum": 0 }, "maxItems": 4 })),
            with("d", json!({ "const": 1 })),
            object(before["properties"].clone(), json!([])),
        ] {
            assert_eq!(compare(&before, &after), Ok(()), "{after}");
        }
    }

    #[test]
    fn what_takes_away_is_not_and_the_reason_names_the_member() {
        let inner = object(json!({ "city": { "type": "string" } }), json!([]));
        let open = json!({ "type": "object", "patternProperties": { "^x": {} }, "additionalProperties": { "type": "string" } });
        let before = object(
            json!({ "a": { "type": "string", "maxLength": 5 }, "b": { "enum": ["x", "y"] }, "c": inner, "d": open, "e": { "not": {} } }),
            json!(["a"]),
        );
        let with = |member: &str, schema: Value| {
            let mut after = before.clone();
            after["properties"][member] = schema;
            compare(&before, &after).unwrap_err().member
        };
        assert_eq!(with("a", json!({ "type": "integer" })), "a");
        assert_eq!(with("a", json!({ "type": "string", "maxLength": 4 })), "a");
        assert_eq!(with("a", json!({ "type": "string", "maxLength": 5, "pattern": "x" })), "a");
        assert_eq!(with("a", json!(false)), "a");
        assert_eq!(with("b", json!({ "enum": ["x"] })), "b");
        assert_eq!(with("c", object(json!({ "city": { "type": "number" } }), json!([]))), "c.city");
        assert_eq!(with("c", object(json!({}), json!([]))), "c.city");
        assert_eq!(with("d", json!({ "type": "object", "additionalProperties": { "type": "string" } })), "d");
        assert_eq!(with("d", json!({ "type": "object", "properties": { "xa": {} }, "additionalProperties": true })), "d.xa");
        assert_eq!(with("e", json!({ "not": { "type": "string" } })), "e");
        let mut required = before.clone();
        required["required"] = json!(["a", "b"]);
        assert_eq!(compare(&before, &required).unwrap_err().to_string(), "b: it is required, and records may lack it");
        let mut gone = before.clone();
        gone["properties"].as_object_mut().unwrap().remove("b");
        assert_eq!(compare(&before, &gone).unwrap_err().member, "b");
    }

    #[test]
    fn remarks_say_nothing_about_records_and_the_names_of_members_are_no_remarks() {
        let schema = |title: &str, of_title: &str| json!({ "description": title, "properties": { "title": { "type": of_title, "default": title } } });
        assert!(is_same(&schema("A", "string"), &schema("B", "string")));
        assert!(!is_same(&schema("A", "string"), &schema("A", "integer")));
    }
}
