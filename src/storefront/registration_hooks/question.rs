//! What a hook is asked: who wants to register, and how they have proven what.

use serde_json::{Map, Value, json};

use crate::contact::{EmailAddress, PhoneNumber};
use crate::kernel::ids::StoreId;
use crate::members;
use crate::storefront::audit::{Method, SignInAttempt};
use crate::storefront::customers::NewCustomer;

/// The `data` of the envelope.
pub fn of(attempt: &SignInAttempt<'_>, newcomer: &NewCustomer) -> Map<String, Value> {
    let provider = match &attempt.method {
        Method::Provider(provider) => Some(provider.neutral_name()),
        Method::Registration
        | Method::Code
        | Method::Password
        | Method::PasswordReset
        | Method::Passkey
        | Method::Totp
        | Method::RecoveryCode => None,
    };
    members! {
        "store": newcomer.store,
        "name": newcomer.name,
        "email": newcomer.email.as_ref().map(EmailAddress::as_str),
        "email_verified": newcomer.email_is_proven,
        "phone": newcomer.phone.as_ref().map(PhoneNumber::as_str),
        "phone_verified": newcomer.phone_is_proven,
        "method": attempt.method.as_str(),
        "provider": provider,
        "address": attempt.client.address.ip(),
        "user_agent": attempt.client.user_agent,
        "additionalData": json!({}),
    }
}

/// The same of nobody, marked as a test.
pub fn sample(store: StoreId) -> Map<String, Value> {
    members! {
        "store": store,
        "name": "Grace Hopper",
        "email": "grace@example.com",
        "email_verified": true,
        "phone": "+12015550123",
        "phone_verified": false,
        "method": "registration",
        "provider": null,
        "address": "203.0.113.7",
        "user_agent": null,
        "additionalData": json!({ "test": true }),
    }
}
