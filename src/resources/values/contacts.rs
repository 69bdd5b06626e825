//! Phone numbers and email addresses as fields of request bodies.

use serde_json::json;

use crate::contact::{EmailAddress, PhoneNumber};

crate::field_type!(PhoneNumber => String, json!({ "type": "string", "description": "A phone number; stored in E.164.", "examples": ["+12015550123"] }), in events json!({ "type": "string" }));
crate::field_type!(EmailAddress => String, json!({ "type": "string", "format": "email" }), in events json!({ "type": "string" }));
