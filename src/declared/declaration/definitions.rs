//! Resolves `$ref`s to parts under `$defs` by inserting the parts, so that every schema that is compared, stored or shown is
//! self-contained.

use serde_json::{Map, Value, json};

use crate::declared::declaration::InvalidKey;
use crate::declared::declaration::compatibility::REMARKS;

/// The schema without `$defs` and `$ref`.
pub(super) fn put_in_place(mut schema: Map<String, Value>) -> Result<Map<String, Value>, InvalidKey> {
    let definitions = match schema.shift_remove("$defs") {
        None => Map::new(),
        Some(Value::Object(definitions)) => definitions,
        Some(_) => return Err(InvalidKey::new("$defs", "it must be a table of schemas")),
    };
    each(&mut schema, &definitions, &mut Vec::new())?;
    Ok(schema)
}

/// Resolves the references in an object and everything inside it.
fn each(members: &mut Map<String, Value>, definitions: &Map<String, Value>, within: &mut Vec<String>) -> Result<(), InvalidKey> {
    for (keyword, value) in members.iter_mut() {
        inside(value, definitions, within).map_err(|bad| bad.below(keyword))?;
    }
    let Some(reference) = members.shift_remove("$ref") else { return Ok(()) };
    let mut part = find(&reference, definitions, within).map_err(|reason| InvalidKey::new("$ref", reason))?;
    within.push(reference.to_string());
    inside(&mut part, definitions, within)?;
    within.pop();
    match part {
        // Annotations next to the reference take precedence over those of the part.
        Value::Object(part) if members.keys().all(|keyword| REMARKS.contains(&keyword.as_str())) => {
            for (keyword, value) in part {
                members.entry(keyword).or_insert(value);
            }
        }
        part => match members.entry("allOf").or_insert_with(|| json!([])) {
            Value::Array(all) => all.push(part),
            _ => return Err(InvalidKey::new("allOf", "it must be a list of schemas")),
        },
    }
    Ok(())
}

fn inside(value: &mut Value, definitions: &Map<String, Value>, within: &mut Vec<String>) -> Result<(), InvalidKey> {
    match value {
        Value::Object(members) => each(members, definitions, within),
        Value::Array(items) => items.iter_mut().try_for_each(|item| inside(item, definitions, within)),
        _ => Ok(()),
    }
}

fn find(reference: &Value, definitions: &Map<String, Value>, within: &[String]) -> Result<Value, String> {
    let name = reference.as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
    match name.and_then(|name| definitions.get(name)) {
        None => Err(format!("{reference} does not refer to a schema under #/$defs/")),
        Some(_) if within.contains(&reference.to_string()) => Err(format!("{reference} contains itself")),
        Some(part) => Ok(part.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(schema: Value) -> Result<Value, String> {
        let Value::Object(schema) = schema else { panic!("an object") };
        put_in_place(schema).map(Value::Object).map_err(|bad| bad.key)
    }

    #[test]
    fn parts_stand_where_they_are_referred_to() {
        let schema = json!({
            "$defs": { "code": { "type": "string", "maxLength": 5 }, "codes": { "type": "array", "items": { "$ref": "#/$defs/code" } } },
            "properties": {
                "one": { "$ref": "#/$defs/code", "description": "One." },
                "many": { "$ref": "#/$defs/codes" },
                "upper": { "$ref": "#/$defs/code", "pattern": "^[A-Z]*$" },
            },
        });
        let code = json!({ "type": "string", "maxLength": 5 });
        let expected = json!({
            "properties": {
                "one": { "description": "One.", "type": "string", "maxLength": 5 },
                "many": { "type": "array", "items": code },
                "upper": { "pattern": "^[A-Z]*$", "allOf": [code] },
            },
        });
        assert_eq!(placed(schema), Ok(expected));
    }

    #[test]
    fn a_reference_leads_to_a_part_that_does_not_contain_itself() {
        let of = |reference: &str| json!({ "$defs": { "a": { "items": { "$ref": "#/$defs/a" } } }, "items": { "$ref": reference } });
        assert_eq!(placed(of("#/$defs/a")).unwrap_err(), "items.items.$ref");
        for elsewhere in ["#/$defs/b", "#/properties/a", "#", "https://example.com/schema", "file:///etc/passwd"] {
            assert_eq!(placed(of(elsewhere)).unwrap_err(), "items.$ref", "{elsewhere}");
        }
    }
}
