//! What opens an account, for a customer who got it back: whatever is not theirs has to go.

use serde_json::{Value, json};

use crate::kernel::database::Connection;
use crate::kernel::openapi::object;
use crate::storefront::accounts::{passkeys, social};
use crate::storefront::customers::Customer;
use crate::storefront::second_factors;

pub fn schema() -> Value {
    let contact = object([
        ("kind", json!({ "enum": ["email", "phone"] })),
        ("contact", json!({ "type": "string" })),
        ("verified", json!({ "type": "boolean" })),
    ]);
    let contacts = json!({ "type": "array", "items": contact });
    let mut schema = object([
        ("contacts", contacts),
        ("providers", social::links_schema()),
        ("passkeys", passkeys::passkeys_schema()),
        ("second_factor", second_factors::schema()),
    ]);
    schema["description"] =
        "What opens the account now. Suspended links to identity providers and passkeys open it once they are linked again or resumed."
            .into();
    schema
}

pub async fn of(conn: &mut Connection, customer: &Customer) -> Result<Value, sqlx::Error> {
    let email = customer.email.as_ref().map(|email| ("email", email, customer.email_verified_at.is_some()));
    let phone = customer.phone.as_ref().map(|phone| ("phone", phone, customer.phone_verified_at.is_some()));
    let shown = |(kind, contact, verified)| json!({ "kind": kind, "contact": contact, "verified": verified });
    let contacts: Vec<_> = email.into_iter().chain(phone).map(shown).collect();
    let providers = social::show_links(conn, customer.id).await?;
    let (passkeys, second_factor) = (passkeys::show_passkeys(conn, customer.id).await?, second_factors::show(conn, customer.id).await?);
    Ok(json!({ "contacts": contacts, "providers": providers, "passkeys": passkeys, "second_factor": second_factor }))
}
