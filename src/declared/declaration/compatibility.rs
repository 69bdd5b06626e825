//! Whether records that fitted an older schema fit a newer one: what may be added, and what may not be taken away.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Why they may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member}: {reason}")]
pub struct Incompatible {
    /// The member, as `address.city`.
    pub member: String,
    /// What has changed.
    pub reason: &'static str,
}

/// Keywords that only explain.
const REMARKS: [&str; 6] = ["title", "description", "default", "examples", "$comment", "deprecated"];
/// Bounds that may be widened: the first kind upwards, the second downwards.
const UPPER: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const LOWER: [&str; 5] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];

/// Refuses unless everything that fits `before` fits `after`, as far as one can tell by reading: what is not known to be wider is refused.
pub fn compare(before: &Value, after: &Value) -> Result<(), Incompatible> {
    schemas("", before, after)
}

fn schemas(member: &str, before: &Value, after: &Value) -> Result<(), Incompatible> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return if before == after || *after == Value::Bool(true) { Ok(()) } else { refuse(member, "its schema is another one") };
    };
    properties(member, before, after)?;
    required(member, before, after)?;
    let keywords: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for keyword in keywords {
        let (was, is) = (before.get(keyword), after.get(keyword));
        match keyword.as_str() {
            "properties" | "required" => {}
            remark if REMARKS.contains(&remark) => {}
            _ if was == is || is.is_none() && keyword != "type" => {}
            "type" if is.is_none_or(|is| is_wider_list(was, is)) => {}
            "type" => return refuse(member, "its type is another one"),
            "enum" if is.is_some_and(|is| is_wider_list(was, is)) => {}
            "enum" => return refuse(member, "a value that was allowed is not"),
            "additionalProperties" if is == Some(&Value::Bool(true)) => {}
            bound if UPPER.contains(&bound) && compare_numbers(was, is).is_some_and(|wider| wider > 0.0) => {}
            bound if LOWER.contains(&bound) && compare_numbers(was, is).is_some_and(|wider| wider < 0.0) => {}
            "items" if was.is_some() => schemas(&format!("{member}[]"), was.unwrap_or(&Value::Null), is.unwrap_or(&Value::Null))?,
            _ => return refuse(member, "a rule is new or narrower"),
        }
    }
    Ok(())
}

fn refuse<T>(member: &str, reason: &'static str) -> Result<T, Incompatible> {
    Err(Incompatible { member: if member.is_empty() { "the record".to_owned() } else { member.to_owned() }, reason })
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
    // Where anything was welcome, a new member may have been there with any value.
    let closed = before.get("additionalProperties") == Some(&Value::Bool(false));
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

/// Lists of types or values; one alone is a list of one.
fn is_wider_list(was: Option<&Value>, is: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    was.is_some_and(|was| list(was).iter().all(|value| list(is).contains(value)))
}

fn compare_numbers(was: Option<&Value>, is: Option<&Value>) -> Option<f64> {
    Some(is?.as_f64()? - was?.as_f64()?)
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
        let before = object(json!({ "a": { "type": "string", "maxLength": 5 }, "b": { "enum": ["x"], "type": "string" } }), json!(["a"]));
        for after in [
            before.clone(),
            object(json!({ "a": { "type": "string", "maxLength": 9 }, "b": { "enum": ["x", "y"], "type": "string" } }), json!(["a"])),
            object(json!({ "a": { "type": ["string", "null"] }, "b": { "type": "string", "description": "B" } }), json!([])),
            object(json!({ "a": { "type": "string", "maxLength": 5 }, "b": { "enum": ["x"], "type": "string" }, "c": { "type": "array" } }), json!(["a"])),
        ] {
            assert_eq!(compare(&before, &after), Ok(()), "{after}");
        }
    }

    #[test]
    fn what_takes_away_is_not_and_the_reason_names_the_member() {
        let inner = object(json!({ "city": { "type": "string" } }), json!([]));
        let before = object(json!({ "a": { "type": "string", "maxLength": 5 }, "b": { "enum": ["x", "y"] }, "c": inner }), json!(["a"]));
        let with = |member: &str, schema: Value| {
            let mut after = before.clone();
            after["properties"][member] = schema;
            compare(&before, &after).unwrap_err().member
        };
        assert_eq!(with("a", json!({ "type": "integer" })), "a");
        assert_eq!(with("a", json!({ "type": "string", "maxLength": 4 })), "a");
        assert_eq!(with("a", json!({ "type": "string", "maxLength": 5, "pattern": "x" })), "a");
        assert_eq!(with("b", json!({ "enum": ["x"] })), "b");
        assert_eq!(with("c", object(json!({ "city": { "type": "number" } }), json!([]))), "c.city");
        assert_eq!(with("c", object(json!({}), json!([]))), "c.city");
        let mut required = before.clone();
        required["required"] = json!(["a", "b"]);
        assert_eq!(compare(&before, &required).unwrap_err().to_string(), "b: it is required, and records may lack it");
        let mut gone = before.clone();
        gone["properties"].as_object_mut().unwrap().remove("b");
        assert_eq!(compare(&before, &gone).unwrap_err().member, "b");
    }
}
