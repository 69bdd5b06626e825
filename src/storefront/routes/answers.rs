//! Response schemas that several routes share.

use serde_json::{Value, json};

use crate::kernel::openapi::{object, reference};

fn ok() -> Value {
    json!({ "const": "ok" })
}

/// The response of a route that returns no data.
pub fn done() -> Value {
    object([("status", ok())])
}

/// The response of a route that sends a code.
pub fn sent() -> Value {
    object([("status", ok()), ("method", json!({ "enum": ["sms", "email"], "description": "How the code was sent." }))])
}

/// The login response of interface 1.
pub fn login() -> Value {
    login_with([])
}

/// The login response with further members.
pub fn login_with<const N: usize>(more: [(&'static str, Value); N]) -> Value {
    let token = json!({ "type": "string", "description": "The value of the header `Customer-Token` in later requests." });
    object([("token", token), ("customer", reference("customer"))].into_iter().chain(more))
}

/// The response of a route that changes the customer.
pub fn own_record() -> Value {
    object([("customer", reference("customer"))])
}
