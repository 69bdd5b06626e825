//! Customers in the API for operators.

use chrono::{DateTime, Utc};

use crate::callers::Area;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::resources::{Instant, Meta, Reference, Resource};
use crate::storefront::state::Storefront;

crate::read_only! {
    /// A customer in the API for operators.
    pub struct CustomerRecord {
        /// The store of the customer.
        #[filtered]
        store_id as "store": Reference<StoreId>,
        /// The name.
        #[searched]
        name: String,
        /// The email address.
        #[filtered] #[searched]
        email: Option<String>,
        /// The phone number.
        #[filtered] #[searched]
        phone: Option<String>,
        /// The form of address.
        title: Option<String>,
        /// The URL of the photo.
        photo_url: Option<String>,
        /// Free-form data of the shop.
        meta: Meta,
        /// When the account was closed.
        closed_at: Option<Instant>,
    }
    computed {
        /// Whether the customer has verified the email address.
        email_verified: bool = |customer| customer.email_verified_at.is_some(),
        /// Whether the customer has verified the phone number.
        phone_verified: bool = |customer| customer.phone_verified_at.is_some(),
    }
    hidden {
        /// When the customer verified the email address.
        email_verified_at: Option<DateTime<Utc>>,
        /// When the customer verified the phone number.
        phone_verified_at: Option<DateTime<Utc>>,
    }
}

impl Resource for CustomerRecord {
    type Id = CustomerId;
    type State = Storefront;

    const SINGULAR: &'static str = "customer";
    const PLURAL: &'static str = "customers";
    const AREA: Area = Area::Customers;
    const TABLE: &'static str = "customer_records";
}
