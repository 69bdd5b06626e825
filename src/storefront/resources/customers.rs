//! Customers, as operators see them.

use std::future::{Future, ready};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::kernel::clock::timestamp;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::members;
use crate::resources::{Filter, Meta, Record, Resource};
use crate::storefront::Storefront;

crate::columns! {
    /// A customer as operators see them.
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
    type Room = Storefront;

    const SINGULAR: &'static str = "customer";
    const PLURAL: &'static str = "customers";
    const TABLE: &'static str = "customer_records";
    const FILTERS: &'static [Filter] = &[Filter::id::<StoreId>("store").on("store_id"), Filter::text("email"), Filter::text("phone")];
    const SEARCH: &'static [&'static str] = &["name", "email", "phone"];

    fn present(
        _: &mut PgConnection,
        records: &[Record<Self>],
    ) -> impl Future<Output = Result<Vec<Map<String, Value>>, sqlx::Error>> + Send {
        ready(Ok(records.iter().map(|record| record.fields.members()).collect()))
    }
}

impl CustomerRecord {
    fn members(&self) -> Map<String, Value> {
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
}
