//! The event types of a declared kind, for the catalogue.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::events::{EventName, EventType, InvalidEventType};
use crate::kernel::ids::{DeclaredId, TypedId};

/// The events of every record.
pub(super) const ACTIONS: [&str; 3] = ["created", "updated", "deleted"];

/// The id and UUID of the sample record. Any UUID will do.
const SAMPLE: (&str, &str) = ("record_01h455vb4pex5vsknk084sn02q", "01890a5d-ac96-774b-bcce-b302099a8057");

/// `stock_item.created`. The singular name has been validated.
pub(super) fn name(singular: &str, action: &str) -> EventName {
    format!("{singular}.{action}").parse().expect("lower-case words form a valid event name")
}

/// `created`, `updated`, `deleted`, and the events that values of fields publish.
pub(super) fn of(
    namespace: &str,
    singular: &str,
    schema: &Value,
    sample: &Map<String, Value>,
    becomes: &BTreeMap<String, BTreeMap<String, EventName>>,
) -> Result<Vec<EventType>, InvalidEventType> {
    let words = singular.replace('_', " ");
    let mut meanings: Vec<(EventName, String)> =
        ACTIONS.iter().map(|action| (name(singular, action), format!("A {words} was {action}."))).collect();
    let mut values: BTreeMap<&EventName, Vec<String>> = BTreeMap::new();
    for (member, events) in becomes {
        for (value, event) in events {
            values.entry(event).or_default().push(format!("the {} of a {words} became {value}", member.replace('_', " ")));
        }
    }
    meanings.extend(values.into_iter().map(|(event, became)| (event.clone(), sentence(&became.join(", or ")))));
    let (schema, sample) = (data_schema(schema), data(sample));
    meanings.into_iter().map(|(name, meaning)| EventType::declared(name, namespace, meaning, schema.clone(), sample.clone())).collect()
}

fn sentence(words: &str) -> String {
    let (first, rest) = words.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}

/// The schema of the records with the fields that every event has.
fn data_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let id = DeclaredId::json_schema();
    let instant = json!({ "type": "string", "format": "date-time" });
    let everywhere = [
        ("id", id.clone()),
        ("public_id", id),
        ("uuid", json!({ "type": "string", "format": "uuid" })),
        ("meta", json!({ "type": "object" })),
        ("created_at", instant.clone()),
        ("updated_at", instant),
        ("additionalData", json!({ "type": "object" })),
    ];
    let mut required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, member) in everywhere {
        schema["properties"][name] = member;
        required.push(name.into());
    }
    schema["required"] = required.into();
    schema
}

fn data(sample: &Map<String, Value>) -> Map<String, Value> {
    let ((id, uuid), at) = (SAMPLE, "2026-05-21T10:15:00.000+00:00");
    let mut data = Map::from_iter([("id", id), ("public_id", id), ("uuid", uuid)].map(|(name, value)| (name.to_owned(), value.into())));
    data.extend(sample.clone());
    data.entry("meta").or_insert_with(|| json!({}));
    data.extend([("created_at", at), ("updated_at", at)].map(|(name, value)| (name.to_owned(), value.into())));
    data.insert("additionalData".to_owned(), json!({}));
    data
}
