//! Phone numbers and email addresses as fields of request bodies.

use serde_json::json;

use crate::contact::{EmailAddress, PhoneNumber};

crate::parsed_as!(PhoneNumber => String, json!({ "type": "string", "description": "A phone number; kept in E.164.", "examples": ["+12015550123"] }));
crate::parsed_as!(EmailAddress => String, json!({ "type": "string", "format": "email" }));
