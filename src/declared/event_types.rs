//! The events of a declared kind, as the catalogue describes them.

use serde_json::{Map, Value, json};

use crate::declared::Declaration;
use crate::events::{BadEventType, EventType};

/// Where a sample's id comes from: any UUID does.
const SAMPLE: (&str, &str) = ("record_01h455vb4pex5vsknk084sn02q", "01890a5d-ac96-774b-bcce-b302099a8057");

/// `created`, `updated`, `deleted`, and one for each value that is an event of its own.
pub(super) fn of(declaration: &Declaration) -> Result<Vec<EventType>, BadEventType> {
    let (words, schema, sample) = (declaration.singular.replace('_', " "), schema(declaration), sample(declaration));
    let event_type = |name, meaning: String| EventType::declared(name, meaning, schema.clone(), sample.clone());
    let mut all = Vec::new();
    for action in ["created", "updated", "deleted"] {
        all.push(event_type(declaration.event(action), format!("Of {words}: {action}."))?);
    }
    for (member, events) in &declaration.becomes {
        for (value, name) in events {
            all.push(event_type(name.clone(), format!("Of {words}: {member} became {value}."))?);
        }
    }
    Ok(all)
}

/// The schema of the records, with what every record has.
fn schema(declaration: &Declaration) -> Value {
    let mut schema = declaration.schema.clone();
    let id = json!({ "type": "string", "pattern": "^record_[0-7][0-9a-hjkmnp-tv-z]{25}$" });
    let instant = json!({ "type": "string", "format": "date-time" });
    let everywhere = [
        ("id", id.clone()),
        ("public_id", id),
        ("uuid", json!({ "type": "string", "format": "uuid" })),
        ("created_at", instant.clone()),
        ("updated_at", instant),
        ("additionalData", json!({ "type": "object" })),
    ];
    schema["description"] = declaration.description.clone().into();
    for (name, member) in everywhere {
        schema["properties"][name] = member;
    }
    schema
}

fn sample(declaration: &Declaration) -> Map<String, Value> {
    let (id, uuid) = SAMPLE;
    let at = "2026-05-21T10:15:00.000+00:00";
    let mut sample = Map::from_iter([("id", id), ("public_id", id), ("uuid", uuid)].map(|(name, value)| (name.to_owned(), value.into())));
    sample.extend(declaration.sample.clone());
    sample.entry("meta").or_insert_with(|| json!({}));
    sample.extend([("created_at", at), ("updated_at", at)].map(|(name, value)| (name.to_owned(), value.into())));
    sample.insert("additionalData".to_owned(), json!({}));
    sample
}
