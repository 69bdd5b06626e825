//! The id of a customer in the systems of the shop.

use serde::Deserialize;
use serde_json::json;

use crate::resources::Line;

/// 1 to 255 characters of the shop's choice. It is unique among the open accounts of the store.
#[derive(Debug, Deserialize)]
#[serde(from = "Line<255>")]
pub struct ExternalId(String);

impl From<Line<255>> for ExternalId {
    fn from(line: Line<255>) -> Self {
        Self(line.into())
    }
}

impl From<ExternalId> for String {
    fn from(id: ExternalId) -> Self {
        id.0
    }
}

crate::field_type!(ExternalId => String, json!({ "type": "string", "minLength": 1, "maxLength": 255, "examples": ["40017"] }));
