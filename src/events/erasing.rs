//! Erasing what the events about a record tell of a person, when the record itself is erased.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::events::queries;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, EventId};

/// What stays of an event's data: it names the record, and nobody.
const KEPT: &[&str] = &["id", "public_id", "uuid", "created_at", "updated_at", "deleted_at"];

/// Empties the texts, lists and objects in the data of every event about these records, and returns the events. The rest of each event stays, so
/// that whoever has not received it learns what happened. It is the only change that an event ever sees.
pub async fn erase_events_about(conn: &mut Connection, records: &[(CompanyId, Uuid)]) -> Result<Vec<EventId>, sqlx::Error> {
    let mut erased = Vec::new();
    // One record at a time, so that no more bodies are in memory than there are about one.
    for (company, record) in records {
        let (events, bodies): (Vec<_>, Vec<_>) = queries::find_about(conn, *company, *record).await?.into_iter().unzip();
        queries::replace_bodies(conn, &events, &bodies.iter().map(|body| without_data(body)).collect::<Vec<_>>()).await?;
        erased.extend(events);
    }
    Ok(erased)
}

fn without_data(body: &[u8]) -> Vec<u8> {
    let mut envelope: Map<String, Value> = serde_json::from_slice(body).expect("we wrote it as JSON ourselves");
    if let Some(Value::Object(data)) = envelope.get_mut("data") {
        data.iter_mut().filter(|(name, _)| !KEPT.contains(&name.as_str())).for_each(|(_, value)| empty(value));
    }
    serde_json::to_vec(&envelope).expect("what was read can be written")
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
    use super::*;

    #[test]
    fn what_names_a_person_is_gone_and_what_names_the_event_and_the_record_stays() {
        let body = br#"{"id":"event_1","api_version":"1.0","event":"customer.updated","created_at":"2026-05-21T10:00:00.000+00:00","data":{"id":"customer_1","name":"Ada","email":null,"phone_verified":true,"meta":{"nickname":"Countess"},"tags":["vip"],"updated_at":"2026-05-21T10:00:00.000+00:00"}}"#;
        let erased = br#"{"id":"event_1","api_version":"1.0","event":"customer.updated","created_at":"2026-05-21T10:00:00.000+00:00","data":{"id":"customer_1","name":"","email":null,"phone_verified":true,"meta":{},"tags":[],"updated_at":"2026-05-21T10:00:00.000+00:00"}}"#;
        assert_eq!(String::from_utf8(without_data(body)).unwrap(), std::str::from_utf8(erased).unwrap());
    }
}
