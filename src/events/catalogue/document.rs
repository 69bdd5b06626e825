//! The JSON documents of the events whose `data` is not a record as a resource shows it, and how event types are built from them.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::callers::Area;
use crate::events::catalogue::merge_patch::merge;
use crate::events::catalogue::{EventType, Publisher};

const GROUPS: [&str; 4] = [
    include_str!("documents/customer.json"),
    include_str!("documents/security.json"),
    include_str!("documents/texts.json"),
    include_str!("documents/payment.json"),
];
const COMMON: &str = include_str!("documents/common.json");
/// The prefix of references to a definition in `common.json`.
const TO_COMMON: &str = "common.json#/$defs/";

/// A group of events with the same `data` format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    namespace: String,
    area: Area,
    data: Map<String, Value>,
    sample: Map<String, Value>,
    #[serde(default)]
    published_by: Publisher,
    events: Map<String, Value>,
}

/// One event of a group: what differs from the group.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    meaning: String,
    #[serde(default)]
    data: Map<String, Value>,
    #[serde(default)]
    sample: Map<String, Value>,
}

/// All event types of all documents.
pub fn documented() -> Vec<EventType> {
    let common: Map<String, Value> = read(COMMON);
    let definitions = common["$defs"].as_object().expect("the common document has definitions");
    GROUPS.iter().flat_map(|document| event_types(read(document), definitions)).collect()
}

fn read<T: serde::de::DeserializeOwned>(document: &str) -> T {
    serde_json::from_str(document).expect("a test parses all embedded documents")
}

fn event_types(group: Group, definitions: &Map<String, Value>) -> Vec<EventType> {
    let entries = group.events.iter().map(|(name, entry)| {
        let entry: Entry = serde_json::from_value(entry.clone()).expect("a test parses all embedded documents");
        let (mut data, mut sample) = (group.data.clone(), group.sample.clone());
        merge(&mut data, &entry.data);
        sample.extend(entry.sample);
        require_all(&mut data);
        let mut schema = Value::Object(data);
        resolve(&mut schema, definitions);
        let name = name.parse().expect("a test parses all embedded documents");
        EventType::new(name, (group.namespace.as_str(), group.area), entry.meaning, schema, sample, group.published_by)
    });
    entries.collect()
}

/// Makes all fields required in a document without `required`.
fn require_all(data: &mut Map<String, Value>) {
    let all = data["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
    data.entry("required").or_insert(all);
}

/// Replaces references to `common.json` with their definitions. Keywords next to a reference take precedence.
fn resolve(schema: &mut Value, definitions: &Map<String, Value>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.shift_remove("$ref") {
                let name = reference.strip_prefix(TO_COMMON).expect("documents refer to common.json only");
                for (keyword, value) in definitions[name].as_object().expect("a definition is a schema") {
                    members.entry(keyword).or_insert_with(|| value.clone());
                }
            }
            members.values_mut().for_each(|member| resolve(member, definitions));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(item, definitions)),
        _ => {}
    }
}
