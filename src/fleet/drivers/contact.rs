//! Drivers as other records show them.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::kernel::ids::DriverId;
use crate::resources::{FieldType, Reference, sample_id};

/// The fields of a driver that other records show.
#[derive(Clone, Debug, Deserialize)]
pub struct Contact {
    /// The id.
    pub id: DriverId,
    /// The name.
    pub name: String,
    /// The phone number, in E.164.
    pub phone: Option<String>,
}

impl FieldType for Contact {
    type Column = Self;

    fn into_column(self) -> Self {
        self
    }

    fn show(contact: &Self) -> Value {
        json!({ "id": contact.id, "uuid": contact.id.uuid(), "name": contact.name, "phone": contact.phone })
    }

    fn schema() -> Value {
        let members = json!({
            "id": Reference::<DriverId>::schema(),
            "uuid": { "type": "string", "format": "uuid" },
            "name": { "type": "string" },
            "phone": { "type": ["string", "null"] },
        });
        json!({ "type": "object", "properties": members })
    }

    /// A request may name a driver by the id alone, but what is shown has every field.
    fn event_schema() -> Value {
        let mut schema = Self::schema();
        schema["required"] = json!(["id", "uuid", "name", "phone"]);
        schema
    }

    fn sample() -> Value {
        Self::show(&Self { id: sample_id(), name: "Ada Lovelace".to_owned(), phone: Some("+442071838750".to_owned()) })
    }
}
