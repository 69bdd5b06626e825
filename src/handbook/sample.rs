//! A value that fits a schema, as an example of it.

use serde_json::{Map, Value, json};

use crate::handbook::schema::{id_prefix, properties, required, resolved, types};
use crate::kernel::json_schema;

/// How deep samples go.
const MAX_DEPTH: usize = 5;
/// The part of sample ids behind the prefix, and the UUID that it stands for.
const SUFFIX: &str = "01h455vb4pex5vsknk084sn02q";
const UUID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const INSTANT: &str = "2026-05-21T10:15:00.000+00:00";

const PERSON: &str = "Ada Lovelace";

/// What people would write, by the name of the member.
const BY_NAME: [(&str, &str); 18] = [
    ("channel", "order.order_01h455vb4pex5vsknk084sn02q"),
    ("description", "The shop"),
    ("email", "ada@example.com"),
    ("event", "order.created"),
    ("first_name", "Ada"),
    ("identity", "ada@example.com"),
    ("name", PERSON),
    ("notes", "Ring twice"),
    ("password", "correct horse battery"),
    ("phone", "+12015550123"),
    ("platform", "ios"),
    ("report", "A flat tyre"),
    ("store", "store_01h455vb4pex5vsknk084sn02q"),
    ("subject", "Where is my order?"),
    ("title", "Countess"),
    ("token", "token-of-the-device"),
    ("url", "https://shop.example/hooks"),
    ("webhook", "webhook_01h455vb4pex5vsknk084sn02q"),
];
/// Texts of several forms, for the patterns of members with other names.
const TEXTS: [&str; 7] = ["A text", "text", "TEXT-1", "123456", "at_the_depot", "2026-05-21", "a"];

/// Which members a sample has.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extent {
    /// Those that a request needs, and those that have an example.
    Request,
    /// All.
    Answer,
}

/// A value that fits the schema of the member `name`. The body that creates or changes a record has what the sample of its first event
/// has, as far as that needs no other record.
pub(super) fn sample(document: &Value, schema: &Value, name: &str, extent: Extent) -> Value {
    let mut sample = deep(document, schema, name, extent, 0);
    let Some(singular) = record_of(schema, ".body") else { return sample };
    let Value::Object(members) = &mut sample else { return sample };
    if let Some(own_name) = members.get_mut("name").filter(|name| **name == PERSON) {
        *own_name = format!("My {}", singular.replace('_', " ")).into();
    }
    if let Some(told) = event_data(document, &format!("{singular}.created")) {
        for (name, schema) in properties(&resolved(document, schema)) {
            let fits = || json_schema::validator(schema).is_ok_and(|validator| validator.is_valid(&told[name]));
            if says_something(&told[name]) && schema["enum"].is_null() && fits() {
                members.insert(name.clone(), told[name].clone());
            }
        }
    }
    sample
}

/// The singular name of the record that a schema refers to: `order` of `fleet.order.body`, if `suffix` is `.body`.
fn record_of<'a>(schema: &'a Value, suffix: &str) -> Option<&'a str> {
    let reference = schema["$ref"].as_str().or(schema["allOf"][0]["$ref"].as_str())?;
    reference.strip_suffix(suffix)?.rsplit_once('.').map(|(_, singular)| singular)
}

/// Whether a value is worth to be shown, and is no id of another record.
fn says_something(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains(SUFFIX),
        Value::Object(members) => members.values().any(says_something),
        Value::Number(_) => true,
        _ => false,
    }
}

fn deep(document: &Value, schema: &Value, name: &str, extent: Extent, depth: usize) -> Value {
    if extent == Extent::Request
        && let Some(first) = schema["anyOf"].as_array().and_then(|several| several.first()).filter(|_| schema["properties"].is_null())
    {
        return deep(document, first, name, extent, depth);
    }
    let whole = resolved(document, schema);
    let given = [&whole["example"], &whole["examples"][0], &whole["const"]].into_iter().find(|value| !value.is_null());
    if let Some(given) = given {
        return given.clone();
    }
    if let Some(first) = whole["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match types(&whole).first().copied() {
        Some("object") if depth < MAX_DEPTH => {
            let mut record = object(document, &whole, extent, depth);
            if let Some(singular) = record_of(schema, "").filter(|_| extent == Extent::Answer) {
                take_values(&mut record, event_data(document, &format!("{singular}.created")));
            }
            record
        }
        Some("array") if depth < MAX_DEPTH && whole["items"].is_object() => {
            let wanted = extent == Extent::Answer || whole["minItems"].as_u64().is_some_and(|least| least > 0) || depth == 1;
            if wanted { json!([deep(document, &whole["items"], name, extent, depth + 1)]) } else { json!([]) }
        }
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some("integer") => whole["minimum"].as_i64().map_or(1, |least| least.max(1)).into(),
        Some("number") => json!(if name == "latitude" { 52.52 } else { whole["minimum"].as_f64().unwrap_or(1.5).max(1.5) }),
        Some("boolean") => true.into(),
        Some("string") => text(document, &whole, name).into(),
        _ => Value::Null,
    }
}

fn object(document: &Value, whole: &Value, extent: Extent, depth: usize) -> Value {
    let needed: Vec<_> = required(whole).chain(one_of(whole)).collect();
    let wanted = |name: &str, schema: &Value| match extent {
        Extent::Request => needed.contains(&name) || schema["examples"].is_array(),
        Extent::Answer => schema["writeOnly"] != true,
    };
    let members = properties(whole).filter(|(name, schema)| wanted(name, schema) && schema["not"].is_null());
    let mut members: Map<_, _> = members.map(|(name, schema)| (name.clone(), deep(document, schema, name, extent, depth + 1))).collect();
    if let Some(data) = members.get("event").and_then(|name| event_data(document, name.as_str()?))
        && members.contains_key("data")
    {
        members.insert("data".to_owned(), data.clone());
    }
    members.into()
}

/// The data in the sample of an event, which the schema of a published event does not know.
fn event_data<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    document["webhooks"][name].pointer("/post/requestBody/content/application~1json/example/data")
}

/// Shows what the event about a record shows, so that all samples of a kind tell of the same record.
fn take_values(record: &mut Value, told: Option<&Value>) {
    for (name, value) in record.as_object_mut().into_iter().flatten() {
        if let Some(known) = told.and_then(|told| told.get(name.as_str())).filter(|known| !known.is_null()) {
            *value = known.clone();
        }
    }
}

/// What the first alternative requires, if one of several is.
fn one_of(whole: &Value) -> impl Iterator<Item = &str> {
    required(&whole["anyOf"][0])
}

fn text(document: &Value, schema: &Value, name: &str) -> String {
    if let Some(prefix) = id_prefix(schema) {
        return format!("{prefix}_{SUFFIX}");
    }
    if let Some(id) = schema["x-refers-to"].as_str().and_then(|kind| id_of(document, kind)) {
        return id;
    }
    match schema["format"].as_str() {
        Some("date-time") => return INSTANT.to_owned(),
        Some("uuid") => return UUID.to_owned(),
        _ => {}
    }
    let of_name = BY_NAME.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let mut candidates = of_name.into_iter().chain(TEXTS);
    let Ok(validator) = json_schema::validator(schema) else { return String::new() };
    candidates.find(|candidate| validator.is_valid(&Value::from(*candidate))).unwrap_or_default().to_owned()
}

/// The id that records of a kind have in samples; `kind` is `inventory/warehouses`.
fn id_of(document: &Value, kind: &str) -> Option<String> {
    let (namespace, plural) = kind.split_once('/')?;
    let found = &document["paths"][format!("/{namespace}/int/v1/{plural}/{{uuid}}")]["get"]["responses"]["200"];
    let record = properties(&found["content"]["application/json"]["schema"]).next()?.1;
    let record = resolved(document, record);
    Some(format!("{}_{SUFFIX}", id_prefix(&record["properties"]["id"])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_fits_its_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "identity": { "type": "string" },
                "code": { "type": "string", "pattern": "^[0-9]{6}$" },
                "door": { "type": "string", "pattern": "^[A-Z0-9-]+$", "maxLength": 20 },
                "quantity": { "type": "integer", "minimum": 3 },
                "scopes": { "type": "array", "minItems": 1, "items": { "enum": ["read", "write"] } },
                "note": { "type": "string", "examples": ["Ring twice"] },
                "left_out": { "type": "string" },
            },
            "required": ["identity", "code", "door", "quantity", "scopes"],
        });
        let request = sample(&json!({}), &schema, "", Extent::Request);
        let expected = json!({
            "identity": "ada@example.com", "code": "123456", "door": "TEXT-1", "quantity": 3, "scopes": ["read"], "note": "Ring twice",
        });
        assert_eq!(request, expected);
        assert!(json_schema::validator(&schema).unwrap().is_valid(&request));
        assert_eq!(sample(&json!({}), &schema, "", Extent::Answer)["left_out"], "A text");
    }
}
