//! The `data` of a resource's events: its JSON Schema and its sample follow from the resource's fields. Each event only declares how
//! it differs.

use serde_json::{Map, Value, json};

use crate::events::{EventName, EventType};
use crate::kernel::ids::TypedId;
use crate::resources::field_type::samples::{SAMPLE_CREATED_AT, SAMPLE_INSTANT, SAMPLE_UUID, sample_id};
use crate::resources::{FieldDoc, PublishesEvents, ShownIn};

/// An event about a resource. Declared by [`events!`](crate::events).
#[derive(Clone, Debug)]
pub struct EventDoc {
    /// The event name.
    pub name: EventName,
    /// The meaning, in one sentence.
    pub meaning: &'static str,
    /// What is special about the `data` of this event.
    pub data: fn(EventData) -> EventData,
}

impl EventDoc {
    /// The event type, for a resource with these fields.
    pub fn event_type<R: PublishesEvents>(&self, namespace: &str, fields: &[FieldDoc]) -> EventType {
        let mut data = EventData::of::<R>(fields);
        if self.name.as_str().ends_with(".created") {
            data = data.with("updated_at", SAMPLE_CREATED_AT);
        }
        let EventData { properties, sample } = (self.data)(data);
        let required: Vec<_> = properties.keys().collect();
        let schema = json!({ "description": R::ABOUT, "type": "object", "properties": properties, "required": required });
        EventType::new(self.name.clone(), (namespace, R::AREA), self.meaning, schema, sample, R::PUBLISHER)
    }
}

/// The schema and the sample of an event's `data`.
#[derive(Clone, Debug)]
pub struct EventData {
    properties: Map<String, Value>,
    sample: Map<String, Value>,
}

impl EventData {
    /// The record as every event shows it. A record always shows all of its fields, null if unknown.
    fn of<R: PublishesEvents>(fields: &[FieldDoc]) -> Self {
        let (id, instant) = (R::Id::json_schema(), json!({ "type": "string", "format": "date-time" }));
        let mut data = Self { properties: Map::new(), sample: Map::new() };
        data.put("id", id.clone(), json!(sample_id::<R::Id>()));
        data.put("public_id", id, json!(sample_id::<R::Id>()));
        data.put("uuid", json!({ "type": "string", "format": "uuid" }), json!(SAMPLE_UUID));
        for field in fields.iter().filter(|field| field.shown == ShownIn::Everything) {
            let mut schema = field.event_schema.clone();
            schema["description"] = field.sentence.as_ref().into();
            data.put(&field.name, schema, field.sample.clone());
        }
        if !data.properties.contains_key("meta") {
            data.put("meta", json!({ "description": "Free-form data of the owner.", "type": "object" }), json!({}));
        }
        data.put("created_at", instant.clone(), SAMPLE_CREATED_AT.into());
        data.put("updated_at", instant, SAMPLE_INSTANT.into());
        data.put("additionalData", json!({ "description": "Data specific to this event.", "type": "object" }), json!({}));
        data
    }

    fn put(&mut self, name: &str, schema: Value, sample: Value) {
        self.properties.insert(name.to_owned(), schema);
        self.sample.insert(name.to_owned(), sample);
    }

    /// Shows `value` in the sample.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.sample.insert(name.to_owned(), value.into());
        self
    }

    /// The field always has this value.
    pub fn always(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.properties[name]["const"] = value.clone();
        self.with(name, value)
    }

    /// The field is never null; the sample shows `value`.
    pub fn known(mut self, name: &str, value: impl Into<Value>) -> Self {
        let kind = &mut self.properties[name]["type"];
        *kind = kind[0].take();
        self.with(name, value)
    }

    /// `additionalData` may have this field. The sample shows `value`, unless it is null.
    pub fn may_add(mut self, name: &str, sentence: &str, mut schema: Value, value: impl Into<Value>) -> Self {
        schema["description"] = sentence.into();
        self.properties["additionalData"]["properties"][name] = schema;
        let value = value.into();
        if !value.is_null() {
            self.sample["additionalData"][name] = value;
        }
        self
    }

    /// `additionalData` has this field; the sample shows `value`.
    pub fn adds(self, name: &str, sentence: &str, schema: Value, value: impl Into<Value>) -> Self {
        let mut data = self.may_add(name, sentence, schema, value);
        match &mut data.properties["additionalData"]["required"] {
            Value::Array(required) => required.push(name.into()),
            none => *none = json!([name]),
        }
        data
    }
}

/// Declares the events about a resource: a constant for the name of each, with the meaning as its documentation, and the list of all,
/// for [`PublishesEvents::EVENTS`]. Behind a comma stands what is special about the `data` of the event.
///
/// ```
/// portico::events! {
///     /// The events about shelves.
///     pub const SHELF_EVENTS {
///         /// A shelf was added.
///         SHELF_CREATED = "shelf.created";
///         /// A shelf was filled.
///         SHELF_FILLED = "shelf.filled", |shelf| shelf.always("full", true);
///     }
/// }
/// assert_eq!(SHELF_EVENTS[1].name, SHELF_FILLED);
/// ```
#[macro_export]
macro_rules! events {
    ($(#[$outer:meta])* $visible:vis const $ALL:ident { $($(#[doc = $meaning:literal])+ $NAME:ident = $name:literal $(, $data:expr)?;)* }) => {
        $(
            #[doc = concat!("`", $name, "`:", $($meaning),+)]
            $visible const $NAME: $crate::events::EventName = $crate::events::EventName::constant($name);
        )*

        $(#[$outer])*
        $visible const $ALL: &[$crate::resources::EventDoc] = &[$({
            // The first is the special one, if there is one.
            const DATA: &[fn($crate::resources::EventData) -> $crate::resources::EventData] = &[$($data,)? |data| data];
            $crate::resources::EventDoc { name: $NAME, meaning: concat!($($meaning),+).trim_ascii(), data: DATA[0] }
        },)*];
    };
}
