//! The forms of answers that several routes have.

use serde_json::{Value, json};

use crate::kernel::openapi::{object, reference};

fn ok() -> Value {
    json!({ "const": "ok" })
}

/// Nothing but that it is done.
pub(in crate::storefront) fn done() -> Value {
    object([("status", ok())])
}

/// How a code travelled.
pub(in crate::storefront) fn sent() -> Value {
    object([("status", ok()), ("method", json!({ "enum": ["sms", "email"], "description": "How the code travels." }))])
}

/// The login response of interface 1.
pub(in crate::storefront) fn login() -> Value {
    let token = json!({ "type": "string", "description": "The `Customer-Token` of later requests." });
    object([("token", token), ("customer", reference("customer"))])
}

/// The customer, after a change.
pub(in crate::storefront) fn own_record() -> Value {
    object([("customer", reference("customer"))])
}
