//! The free-form `meta` object of a record.

use serde_json::{Map, Value, json};

use crate::resources::Parsed;

/// Data that the shop stores with a record. The service does not interpret it.
pub type Meta = sqlx::types::Json<Map<String, Value>>;

impl Parsed for Meta {
    type Kept = Self;

    fn keep(self) -> Self {
        self
    }

    fn initial() -> Option<Self> {
        Some(Self::default())
    }

    fn show(kept: &Self) -> Value {
        json!(kept)
    }

    fn schema() -> Value {
        json!({ "type": "object" })
    }
}
