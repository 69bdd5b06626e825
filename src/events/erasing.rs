//! Erasing what the events about a record tell of a person, when the record itself is erased.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::events::{documented, queries};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, EventId};

/// The keywords of a schema whose values are no free text: ids, instants, words of a list.
const BOUND: [&str; 4] = ["pattern", "format", "enum", "const"];

/// By the name of an event, the members of its data that are no free text.
static KEPT: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let is_bound = |schema: &Value| BOUND.iter().any(|keyword| schema.get(keyword).is_some());
    let types = documented().into_iter().map(|event_type| {
        let members = event_type.data_schema["properties"].as_object().into_iter().flatten();
        let kept = members.filter(|(_, schema)| is_bound(schema)).map(|(name, _)| name.clone()).collect();
        (event_type.name.as_str().to_owned(), kept)
    });
    types.collect()
});

/// Empties the free texts, lists and objects in the data of every event about a record, and returns the events. The rest of each event stays, so
/// that whoever has not received it learns what happened. It is the only change that an event ever sees.
pub async fn erase_events_about(conn: &mut Connection, company: CompanyId, record: Uuid) -> Result<Vec<EventId>, sqlx::Error> {
    let (events, bodies): (Vec<_>, Vec<_>) = queries::find_about(conn, company, record).await?.into_iter().unzip();
    queries::replace_bodies(conn, &events, &bodies.iter().map(|body| without_data(body)).collect::<Vec<_>>()).await?;
    Ok(events)
}

fn without_data(body: &[u8]) -> Vec<u8> {
    let Ok(mut envelope) = serde_json::from_slice::<Map<String, Value>>(body) else { return without_members(body) };
    let kept = envelope.get("event").and_then(Value::as_str).and_then(|event| KEPT.get(event));
    let is_kept = |member: &str| kept.is_some_and(|kept| kept.iter().any(|kept| kept == member));
    if let Some(Value::Object(data)) = envelope.get_mut("data") {
        data.iter_mut().filter(|(member, _)| !is_kept(member)).for_each(|(_, value)| empty(value));
    }
    serde_json::to_vec(&envelope).expect("what was read can be written")
}

/// The envelope with nothing in its data, where that is nested more deeply than can be read. The parser skips what is not asked for at any depth.
fn without_members(body: &[u8]) -> Vec<u8> {
    #[derive(Deserialize, Serialize)]
    struct Frame<'a> {
        id: Cow<'a, str>,
        api_version: Cow<'a, str>,
        event: Cow<'a, str>,
        created_at: Cow<'a, str>,
        #[serde(skip_deserializing)]
        data: Map<String, Value>,
    }
    let frame: Frame<'_> = serde_json::from_slice(body).expect("we wrote it as JSON ourselves");
    serde_json::to_vec(&frame).expect("what was read can be written")
}

/// A value of the same type without content, so that the data is still valid.
fn empty(value: &mut Value) {
    match value {
        Value::String(text) => text.clear(),
        Value::Array(values) => values.clear(),
        Value::Object(members) => members.clear(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_names_a_person_is_gone_and_what_names_the_event_and_the_record_stays() {
        let erased = |event: &str, data: Value| {
            let body = json!({ "id": "event_1", "event": event, "created_at": "2026-05-21T10:00:00.000+00:00", "data": data });
            serde_json::from_slice::<Value>(&without_data(&serde_json::to_vec(&body).unwrap())).unwrap()["data"].take()
        };
        let data = json!({ "id": "customer_1", "name": "Ada", "email": null, "phone_verified": true, "meta": { "nickname": "Countess" },
            "tags": ["vip"], "updated_at": "2026-05-21T10:00:00.000+00:00" });
        let left = json!({ "id": "customer_1", "name": "", "email": null, "phone_verified": true, "meta": {}, "tags": [],
            "updated_at": "2026-05-21T10:00:00.000+00:00" });
        assert_eq!(erased("customer.updated", data), left);
        let data = json!({ "store": "store_1", "contact": "email", "change": "changed", "before": "ada@example.com", "after": null });
        let left = json!({ "store": "store_1", "contact": "email", "change": "changed", "before": "", "after": null });
        assert_eq!(erased("customer.contact_changed", data.clone()), left);
        let nothing = json!({ "store": "", "contact": "", "change": "", "before": "", "after": null });
        assert_eq!(erased("customer.unknown", data), nothing, "nobody knows what is free text");
        let deep = format!(
            r#"{{"id":"event_1","api_version":"1.0","event":"customer.updated","created_at":"now","data":{{"name":"Ada","meta":{}{}}}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        let frame = br#"{"id":"event_1","api_version":"1.0","event":"customer.updated","created_at":"now","data":{}}"#;
        assert_eq!(without_data(deep.as_bytes()), frame);
    }
}
