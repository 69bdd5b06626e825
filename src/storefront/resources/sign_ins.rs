//! The sign-in audit in the API for operators.

use serde_json::{Map, Value, json};

use crate::kernel::ids::{CustomerId, SignInId, StoreId};
use crate::members;
use crate::resources::{Described, Filter, Reference, Resource};
use crate::storefront::Storefront;
use crate::storefront::audit::Method;

crate::columns! {
    /// An attempt to sign in, in the API for operators.
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
        Filter::word::<Method>("method"),
        Filter::text("identity"),
        Filter::text("outcome"),
        Filter::text("address"),
    ];

    fn shown(&self) -> Map<String, Value> {
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

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::shown::<Reference<StoreId>>("store", "Where."),
            Described::shown::<Option<Reference<CustomerId>>>("customer", "Who, where that is known."),
            Described::shown::<Method>("method", "How."),
            Described::formed("identity", "The phone number or address that was given.", json!({ "type": ["string", "null"] })),
            Described::formed("outcome", "What came of it.", json!({ "type": "string" })),
            Described::formed("address", "The client's address.", json!({ "type": "string" })),
            Described::formed("user_agent", "The client, as it calls itself.", json!({ "type": ["string", "null"] })),
        ]
    }
}
