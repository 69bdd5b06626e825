//! The free-form `meta` object of a record.

use serde_json::{Map, Value, json};

use crate::resources::FieldType;

/// Data that the shop stores with a record. The service does not interpret it.
pub type Meta = sqlx::types::Json<Map<String, Value>>;

impl FieldType for Meta {
    type Column = Self;

    fn into_column(self) -> Self {
        self
    }

    fn initial() -> Option<Self> {
        Some(Self::default())
    }

    fn show(column: &Self) -> Value {
        json!(column)
    }

    fn schema() -> Value {
        json!({ "type": "object" })
    }

    fn sample() -> Value {
        json!({})
    }
}
