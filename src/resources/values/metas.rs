//! What a shop keeps with a record.

use serde_json::{Map, Value, json};

use crate::resources::Parsed;

/// Facts the shop keeps with a record and that mean nothing to us.
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
