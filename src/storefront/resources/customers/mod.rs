//! Customers in the API for operators and the company's own servers: the record, how an account is opened ([`opening`]) and changed
//! ([`changing`]), what is done to it ([`acts`]), what happened to it ([`timeline`]), and customers who move in ([`import`]).

mod acts;
mod changing;
mod external_id;
mod import;
mod opening;
mod timeline;

use axum::extract::FromRef;
use axum::http::Method;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::callers::{Area, Caller};
use crate::companies::Companies;
use crate::contact::{EmailAddress, PhoneNumber};
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::members;
use crate::resources::{Extension, Instant, Meta, Record, Reference, Resource};
use crate::storefront::accounts::{passkeys, social};
use crate::storefront::resources::customers::external_id::ExternalId;
use crate::storefront::state::Storefront;
use crate::storefront::{codes, passwords, second_factors};

pub use import::LARGER_BODY;

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
        #[filtered on "email_key"] #[searched]
        email: Option<EmailAddress>,
        /// The phone number.
        #[filtered] #[searched]
        phone: Option<PhoneNumber>,
        /// The form of address.
        title: Option<String>,
        /// The URL of the photo.
        photo_url: Option<String>,
        /// Free-form data of the shop.
        meta: Meta,
        /// Since when the customer may not sign in.
        banned_at: Option<Instant>,
        /// Why the customer may not sign in.
        banned_reason: Option<String>,
        /// When the ban ends by itself. A ban without an end lasts until it is lifted.
        banned_until: Option<Instant>,
        /// When the account was closed.
        closed_at: Option<Instant>,
        /// Whether the account was made with a test identity. Figures leave it out.
        #[filtered]
        test: bool,
        /// The id of the customer in the systems of the shop.
        #[filtered]
        external_id: Option<ExternalId>,
    }
    computed {
        /// Whether the customer has verified the email address.
        email_verified: bool = |customer| customer.email_verified_at.is_some(),
        /// Whether the customer has verified the phone number.
        phone_verified: bool = |customer| customer.phone_verified_at.is_some(),
        /// Until when wrong codes or passwords keep the customer from signing in. Only in the response for a single customer.
        #[detail]
        locked_out_until: Option<Instant>,
        /// What keeps the customer out: `codes`, `passwords` or `second_factor`. Only in the response for a single customer.
        #[detail]
        locked_out_by: Option<String>,
        /// How many lock-outs there were since the last sign-in, this one included. Only in the response for a single customer.
        #[detail]
        lockouts: Option<i32>,
        /// Whether the lock-out lasts until an operator unlocks the customer, or a sign-in by another way. Only in the response for a
        /// single customer.
        #[detail]
        locked_for_good: Option<bool>,
        /// The identity providers that open the account: `provider`, `state` (`active` or `suspended`) and `linked_at`. Only in the response for a single customer.
        #[detail]
        provider_links: Vec<Map<String, Value>>,
        /// Since when sign-ins ask for a second factor, if they do. Only in the response for a single customer.
        #[detail]
        second_factor_since: Option<Instant>,
        /// Recovery codes that were not used yet, of a customer with a second factor. Only in the response for a single customer.
        #[detail]
        recovery_codes_left: Option<i64>,
        /// The passkeys: `id`, `name`, `state` (`active` or `suspended`), `backed_up`, `created_at` and `last_used_at`. Only in the response for a single customer.
        #[detail]
        passkeys: Vec<Map<String, Value>>,
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
    const SEARCH_INDEX: bool = true;
    const AREA: Area = Area::Customers;
    const TABLE: &'static str = "customer_records";

    async fn details(
        storefront: &Storefront,
        _: &Caller,
        conn: &mut Connection,
        customer: &Record<Self>,
    ) -> Result<Map<String, Value>, sqlx::Error> {
        let (store, now) = (customer.fields.store_id, storefront.clock.now());
        let names = customer.names();
        let by_codes = codes::find_lockout(conn, store, &names, now).await?;
        let by_passwords = passwords::find_lockout(conn, store, &names, now).await?;
        let by_second_factor = second_factors::find_lockout(conn, customer.id, now).await?;
        let all = [("codes", by_codes), ("passwords", by_passwords), ("second_factor", by_second_factor)].into_iter();
        let longest = all.filter_map(|(by, lockout)| Some((by, lockout?))).max_by_key(|(_, lockout)| lockout.until);
        let second_factor = second_factors::find_second_factor(conn, customer.id).await?;
        Ok(members! {
            "locked_out_until": longest.map(|(_, lockout)| timestamp(lockout.until)),
            "locked_out_by": longest.map(|(by, _)| by),
            "lockouts": longest.map(|(_, lockout)| lockout.step),
            "locked_for_good": longest.map(|(_, lockout)| lockout.for_good),
            "provider_links": social::show_links(conn, customer.id).await?,
            "second_factor_since": second_factor.as_ref().map(|factor| timestamp(factor.enabled_at)),
            "recovery_codes_left": second_factor.map(|factor| factor.recovery_codes_left),
            "passkeys": passkeys::show_passkeys(conn, customer.id).await?,
        })
    }
}

impl Record<CustomerRecord> {
    /// What wrong codes and wrong passwords of the account are counted under: the account itself, and its identities, as wrong codes are
    /// counted at identities that are not proven.
    fn names(&self) -> Vec<String> {
        let email = self.fields.email.as_ref().map(|email| email.to_ascii_lowercase());
        email.into_iter().chain(self.fields.phone.clone()).chain([self.id.uuid().to_string()]).collect()
    }
}

/// The two `GET` routes of customers, and those of this folder.
pub(super) fn extension<S>() -> Extension<S>
where
    Storefront: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("storefront")
        .read_only::<CustomerRecord>()
        .route(Method::POST, "/customers/import", import::doc(), import::import)
        .route(Method::GET, "/customers/{uuid}/timeline", timeline::doc(), timeline::show)
        .route(Method::GET, "/customers/{uuid}/export", acts::export_doc(), acts::export)
        .route(Method::POST, "/customers/{uuid}/ban", acts::ban_doc(), acts::ban)
        .route(Method::POST, "/customers/{uuid}/unban", acts::unban_doc(), acts::unban)
        .route(Method::POST, "/customers/{uuid}/unlock", acts::unlock_doc(), acts::unlock)
        .route(Method::POST, "/customers/{uuid}/reset-password", acts::reset_password_doc(), acts::reset_password)
        .route(Method::POST, "/customers/{uuid}/remove-second-factor", acts::remove_second_factor_doc(), acts::remove_second_factor)
        .route(Method::POST, "/customers/{uuid}/remove-passkey", acts::remove_passkey_doc(), acts::remove_passkey)
        .route(Method::POST, "/customers/{uuid}/close", acts::close_doc(), acts::close)
        .route(Method::POST, "/customers/{uuid}/erase", acts::erase_doc(), acts::erase)
        .route(Method::POST, "/customers", opening::doc(), opening::create)
        .route(Method::PUT, "/customers/{uuid}", changing::doc(), changing::change)
}
