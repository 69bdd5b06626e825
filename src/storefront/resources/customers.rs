//! Customers in the API for operators.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::members;
use crate::resources::{FieldDoc, Filter, Instant, Meta, Reference, Resource};
use crate::storefront::state::Storefront;

crate::columns! {
    /// A customer in the API for operators.
    pub struct CustomerRecord {
        pub store_id: StoreId,
        pub name: String,
        pub email: Option<String>,
        pub email_verified_at: Option<DateTime<Utc>>,
        pub phone: Option<String>,
        pub phone_verified_at: Option<DateTime<Utc>>,
        pub title: Option<String>,
        pub photo_url: Option<String>,
        pub meta: Meta,
        pub closed_at: Option<DateTime<Utc>>,
    }
}

impl Resource for CustomerRecord {
    type Id = CustomerId;
    type State = Storefront;

    const SINGULAR: &'static str = "customer";
    const PLURAL: &'static str = "customers";
    const TABLE: &'static str = "customer_records";
    const FILTERS: &'static [Filter] = &[Filter::id::<StoreId>("store").on("store_id"), Filter::text("email"), Filter::text("phone")];
    const SEARCH: &'static [&'static str] = &["name", "email", "phone"];

    fn shown(&self) -> Map<String, Value> {
        members! {
            "store": self.store_id,
            "name": self.name,
            "email": self.email,
            "phone": self.phone,
            "email_verified": self.email_verified_at.is_some(),
            "phone_verified": self.phone_verified_at.is_some(),
            "title": self.title,
            "photo_url": self.photo_url,
            "meta": self.meta,
            "closed_at": self.closed_at.map(timestamp),
        }
    }

    fn read_only_fields() -> Vec<FieldDoc> {
        vec![
            FieldDoc::read_only::<Reference<StoreId>>("store", "The store of the customer."),
            FieldDoc::with_schema("name", "The name.", json!({ "type": "string" })),
            FieldDoc::with_schema("email", "The email address.", json!({ "type": ["string", "null"] })),
            FieldDoc::with_schema("phone", "The phone number.", json!({ "type": ["string", "null"] })),
            FieldDoc::with_schema("email_verified", "Whether the customer has verified the email address.", json!({ "type": "boolean" })),
            FieldDoc::with_schema("phone_verified", "Whether the customer has verified the phone number.", json!({ "type": "boolean" })),
            FieldDoc::with_schema("title", "The form of address.", json!({ "type": ["string", "null"] })),
            FieldDoc::with_schema("photo_url", "The URL of the photo.", json!({ "type": ["string", "null"] })),
            FieldDoc::read_only::<Option<Instant>>("closed_at", "When the account was closed."),
        ]
    }
}
