//! Event types.

use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::callers::Area;
use crate::events::{API_VERSION, EventName};
use crate::kernel::json_schema::{self, SchemaViolation};

/// What the catalogue says about one event name.
#[derive(Clone, Debug)]
pub struct EventType {
    /// The event name.
    pub name: EventName,
    /// The namespace of the extension whose records the event is about.
    pub namespace: String,
    /// The part of a company's data that the event is about, and that a recipient of the event reads.
    pub area: Area,
    /// The meaning, in one sentence.
    pub meaning: String,
    /// The JSON Schema (draft 2020-12) of `data`.
    pub data_schema: Value,
    /// A sample of `data`.
    pub sample: Map<String, Value>,
    /// Who may publish the event.
    pub publisher: Publisher,
    /// Compiled from the schema on first use, because most event types are only looked up.
    validator: Arc<OnceLock<Validator>>,
}

/// Who may publish an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Publisher {
    /// The service, and any API key of the company with the required scope.
    #[default]
    Company,
    /// Only the service, because it vouches for the event, such as a payment or a failing endpoint.
    Service,
}

/// A declared event type is invalid.
#[derive(Debug, thiserror::Error)]
pub enum InvalidEventType {
    /// The schema is not valid for draft 2020-12, or references something outside of itself.
    #[error("{0}: the schema is invalid: {1}")]
    Schema(EventName, String),
    /// The sample violates the schema.
    #[error("{0}: the sample does not match the schema: {1}")]
    Sample(EventName, #[source] SchemaViolation),
}

impl EventType {
    /// An event type of the service. A test checks its schema and its sample.
    pub fn new(
        name: EventName,
        (namespace, area): (&str, Area),
        meaning: impl Into<String>,
        data_schema: Value,
        sample: Map<String, Value>,
        publisher: Publisher,
    ) -> Self {
        let (namespace, meaning) = (namespace.to_owned(), meaning.into());
        Self { name, namespace, area, meaning, data_schema, sample, publisher, validator: Arc::default() }
    }

    /// An event type that a deployment declares, about the records of the business. The company may publish it.
    pub fn declared(
        name: EventName,
        namespace: &str,
        meaning: impl Into<String>,
        data_schema: Value,
        sample: Map<String, Value>,
    ) -> Result<Self, InvalidEventType> {
        let validator = json_schema::validator(&data_schema).map_err(|error| InvalidEventType::Schema(name.clone(), error.to_string()))?;
        let declared = Self::new(name, (namespace, Area::Business), meaning, data_schema, sample, Publisher::Company);
        let declared = Self { validator: Arc::new(validator.into()), ..declared };
        match declared.check(&Value::Object(declared.sample.clone())) {
            Ok(()) => Ok(declared),
            Err(unfit) => Err(InvalidEventType::Sample(declared.name, unfit)),
        }
    }

    /// Validates `data` against the schema. Returns the first violation.
    pub fn check(&self, data: &Value) -> Result<(), SchemaViolation> {
        let built_in = || json_schema::validator(&self.data_schema).expect("a test builds the schemas of all built-in events");
        json_schema::check(self.validator.get_or_init(built_in), data)
    }

    /// The JSON Schema of the whole body that subscribers receive.
    pub fn schema(&self) -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.name,
            "description": self.meaning,
            "type": "object",
            "properties": {
                "id": { "description": "The same on every attempt.", "type": "string", "pattern": "^event_[0-7][0-9a-hjkmnp-tv-z]{25}$" },
                "api_version": { "const": API_VERSION },
                "event": { "const": self.name },
                "created_at": { "type": "string", "format": "date-time" },
                "data": self.data_schema,
            },
            "required": ["id", "api_version", "event", "created_at", "data"],
        })
    }

    /// A sample of the whole body.
    pub fn sample_body(&self) -> Value {
        json!({
            "id": "event_01h455vb4pex5vsknk084sn02q",
            "api_version": API_VERSION,
            "event": self.name,
            "created_at": "2026-05-21T10:15:00.000+00:00",
            "data": self.sample,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declare(schema: Value, sample: Value) -> Result<EventType, InvalidEventType> {
        EventType::declared("parcel.lost".parse().unwrap(), "parcels", "A parcel was lost.", schema, sample.as_object().unwrap().clone())
    }

    #[test]
    fn a_declaration_is_looked_at_before_anybody_relies_on_it() {
        let schema =
            json!({ "type": "object", "properties": { "at": { "type": "object", "properties": { "n": { "type": "integer" } } } } });
        let parcel = declare(schema.clone(), json!({ "at": { "n": 1 } })).unwrap();
        let unfit = parcel.check(&json!({ "at": { "n": "SECRET" } })).unwrap_err();
        assert_eq!(unfit, SchemaViolation { path: "at.n".to_owned(), reason: "value is not of type \"integer\"".to_owned() });
        assert!(matches!(declare(schema, json!({ "at": 1 })), Err(InvalidEventType::Sample(..))));
        for bad in [
            json!({ "type": "parcel" }),
            json!({ "$ref": "http://127.0.0.1:1/schema.json" }),
            json!({ "$ref": "file:///etc/passwd" }),
            json!({ "pattern": "(a+)+$(?=b)" }),
        ] {
            assert!(matches!(declare(bad.clone(), json!({})), Err(InvalidEventType::Schema(..))), "{bad}");
        }
    }
}
