//! The networks that access is restricted to.

use serde_json::json;

use crate::callers::AllowedNetworks;

crate::field_type!(AllowedNetworks => Vec<String>, json!({ "type": "array", "items": { "type": "string" } }), initially Vec::new());
