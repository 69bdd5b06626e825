//! JSON Schemas with what they refer to, as far as the documentation uses them.

use serde_json::{Map, Value, json};

/// The schema with its reference followed and its parts combined: the members of all `allOf` and `anyOf`, of which those are required
/// that every alternative requires.
pub(super) fn resolved(document: &Value, schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let found = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        return found.map_or_else(|| json!({}), |found| resolved(document, found));
    }
    let mut whole = schema.clone();
    for part in parts(schema, "allOf") {
        add(&mut whole, &resolved(document, part), true);
    }
    let alternatives: Vec<_> = parts(schema, "anyOf").map(|part| resolved(document, part)).collect();
    for alternative in &alternatives {
        add(&mut whole, alternative, false);
    }
    if let Some((first, others)) = alternatives.split_first() {
        let of_all = required(first).filter(|name| others.iter().all(|other| required(other).any(|known| known == *name)));
        let names: Vec<_> = required(schema).chain(of_all).map(Value::from).collect();
        whole["required"] = names.into();
    }
    whole
}

fn parts<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = &'a Value> {
    schema[keyword].as_array().into_iter().flatten()
}

/// The names that a schema requires.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The members that a schema defines.
pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn add(whole: &mut Value, part: &Value, with_required: bool) {
    let Value::Object(members) = whole else { return };
    for (keyword, value) in part.as_object().into_iter().flatten() {
        match keyword.as_str() {
            "properties" => {
                let known = members.entry("properties").or_insert_with(|| Map::new().into());
                for (name, schema) in properties(part) {
                    if known.get(name).is_none() {
                        known[name] = schema.clone();
                    }
                }
            }
            "required" if with_required => {
                let known = members.entry("required").or_insert_with(|| json!([]));
                if let Value::Array(names) = known {
                    names.extend(required(part).map(Value::from));
                }
            }
            "required" => {}
            _ => drop(members.entry(keyword).or_insert_with(|| value.clone())),
        }
    }
}

/// The types that a schema allows, without `null`.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect(),
        _ if schema["properties"].is_object() => vec!["object"],
        _ => Vec::new(),
    }
}

/// Whether a value may be `null`.
pub(super) fn is_nullable(schema: &Value) -> bool {
    schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
}

/// The prefix of the ids that the pattern of a schema describes: `order` of `^order_[0-7]…`.
pub(super) fn id_prefix(schema: &Value) -> Option<&str> {
    schema["pattern"].as_str()?.strip_prefix('^')?.split_once("_[0-7]").map(|(prefix, _)| prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_followed_and_parts_are_combined() {
        let document = json!({ "components": { "schemas": {
            "shelf": { "type": "object", "properties": { "label": { "type": "string" }, "full": { "type": "boolean" } } },
        } } });
        let shelf = json!({ "$ref": "#/components/schemas/shelf" });
        let create = resolved(&document, &json!({ "allOf": [shelf], "required": ["label"] }));
        assert_eq!(properties(&create).map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["label", "full"]);
        assert_eq!(required(&create).collect::<Vec<_>>(), ["label"]);
        let one = json!({ "properties": { "event": {}, "key": {} }, "required": ["event", "key"] });
        let many = json!({ "properties": { "events": {}, "key": {} }, "required": ["events", "key"] });
        let either = resolved(&document, &json!({ "anyOf": [one, many] }));
        assert_eq!(properties(&either).count(), 3);
        assert_eq!(required(&either).collect::<Vec<_>>(), ["key"]);
    }

    #[test]
    fn the_pattern_of_an_id_has_its_prefix() {
        assert_eq!(id_prefix(&json!({ "pattern": "^order_[0-7][0-9a-hjkmnp-tv-z]{25}$" })), Some("order"));
        assert_eq!(id_prefix(&json!({ "pattern": "^[0-9]{6}$" })), None);
    }
}
