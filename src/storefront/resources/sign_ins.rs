//! The audit of sign-ins.

use std::future::{Future, ready};

use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::kernel::ids::{CustomerId, SignInId, StoreId};
use crate::members;
use crate::resources::{Filter, Record, Resource};
use crate::storefront::Storefront;

crate::columns! {
    /// An attempt to sign in as operators see it.
    pub struct SignInRecord {
        pub store_id: StoreId,
        pub customer_id: Option<CustomerId>,
        pub method: String,
        pub identity: Option<String>,
        pub outcome: String,
        pub address: String,
        pub user_agent: Option<String>,
    }
}

impl Resource for SignInRecord {
    type Id = SignInId;
    type Room = Storefront;

    const SINGULAR: &'static str = "sign_in";
    const PLURAL: &'static str = "sign_ins";
    const TABLE: &'static str = "sign_in_log";
    const FILTERS: &'static [Filter] = &[
        Filter::id::<StoreId>("store").on("store_id"),
        Filter::id::<CustomerId>("customer").on("customer_id"),
        Filter::text("method"),
        Filter::text("identity"),
        Filter::text("outcome"),
        Filter::text("address"),
    ];

    fn present(
        _: &mut PgConnection,
        records: &[Record<Self>],
    ) -> impl Future<Output = Result<Vec<Map<String, Value>>, sqlx::Error>> + Send {
        ready(Ok(records.iter().map(|record| record.fields.members()).collect()))
    }
}

impl SignInRecord {
    fn members(&self) -> Map<String, Value> {
        members! {
            "store": self.store_id,
            "customer": self.customer_id,
            "method": self.method,
            "identity": self.identity,
            "outcome": self.outcome,
            "address": self.address,
            "user_agent": self.user_agent,
        }
    }
}
