//! Customers: the accounts of one store and their representation in responses and events.

mod claims;
mod queries;
mod security;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use crate::contact::{EmailAddress, Identity, PhoneNumber, is_blank};
use crate::events::names::CUSTOMER_CREATED;
use crate::events::{self, EventName, NewEvent, Origin};
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, EventId, StoreId, TestIdentityId, TypedId};
use crate::kernel::openapi::object;
use crate::kernel::password_hashing::HashedPassword;
use crate::kernel::traces;
use crate::members;

pub use claims::{LostClaims, settle_claims};
pub use queries::{
    PasswordOf, ProvenContacts, close_customer, company_of_customer, count_password_guess, erase_closed, export_record, find_by_identity,
    find_customer, find_languages, find_proven, find_proven_contacts, insert_moved_in, is_of_a_customer, is_test, keep_languages,
    lift_ended_bans, list_external_ids, list_listed, list_to_erase, lock_claimants, lock_claimants_of, lock_customer, lock_customer_shared,
    lock_made_with, remove_password, reset_password, restore_contacts, set_ban, set_external_id, set_password_hash, set_proven,
    update_profile,
};
pub use security::{AddedDevice, ContactChange, SecurityEvent, publish_lockout, publish_security};

/// An open account.
#[derive(Clone, Debug)]
pub struct Customer {
    pub id: CustomerId,
    pub name: String,
    pub email: Option<String>,
    pub email_verified_at: Option<DateTime<Utc>>,
    pub phone: Option<String>,
    pub phone_verified_at: Option<DateTime<Utc>>,
    pub title: Option<String>,
    pub photo_url: Option<String>,
    pub meta: Value,
    pub password_hash: Option<HashedPassword>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    /// Since when the customer may not sign in.
    pub banned_at: Option<DateTime<Utc>>,
}

/// The contacts of an account, and since when each is proven.
#[derive(Clone, Debug)]
pub struct Contacts {
    pub email: Option<String>,
    pub email_verified_at: Option<DateTime<Utc>>,
    pub phone: Option<String>,
    pub phone_verified_at: Option<DateTime<Utc>>,
}

impl Contacts {
    /// Those that are proven.
    pub fn proven(&self) -> impl Iterator<Item = Identity> {
        let email = self.email.as_deref().filter(|_| self.email_verified_at.is_some());
        let phone = self.phone.as_deref().filter(|_| self.phone_verified_at.is_some());
        let email = email.and_then(|email| EmailAddress::parse(email).ok()).map(Identity::Email);
        let phone = phone.and_then(|phone| PhoneNumber::parse(phone).ok()).map(Identity::Phone);
        email.into_iter().chain(phone)
    }
}

/// Builds a [`Customer`] from a row with more columns: `customer!(row)`, or `customer!(row, ?)` if the columns may all be null.
macro_rules! customer {
    ($row:ident $(, $or_none:tt)?) => {
        crate::storefront::customers::Customer {
            id: $row.id $($or_none)?.into(),
            name: $row.name $($or_none)?,
            email: $row.email,
            email_verified_at: $row.email_verified_at,
            phone: $row.phone,
            phone_verified_at: $row.phone_verified_at,
            title: $row.title,
            photo_url: $row.photo_url,
            meta: $row.meta $($or_none)?,
            password_hash: $row.password_hash,
            created_at: $row.created_at $($or_none)?,
            updated_at: $row.updated_at $($or_none)?,
            banned_at: $row.banned_at,
        }
    };
}
pub(crate) use customer;

/// The JSON schema of [`Customer::present`].
pub fn schema() -> Value {
    let (text, instant) = (json!({ "type": "string" }), json!({ "type": "string", "format": "date-time" }));
    let (or_none, is_proven) =
        (json!({ "type": ["string", "null"] }), json!({ "type": "boolean", "description": "Whether it is verified." }));
    object([
        ("id", CustomerId::json_schema()),
        ("uuid", json!({ "type": "string", "format": "uuid" })),
        ("name", text),
        ("email", or_none.clone()),
        ("phone", or_none.clone()),
        ("email_verified", is_proven.clone()),
        ("phone_verified", is_proven),
        ("title", or_none.clone()),
        ("photo_url", or_none),
        ("meta", json!({ "type": "object", "description": "Data that the app stores with the customer." })),
        ("created_at", instant.clone()),
        ("updated_at", instant),
    ])
}

impl Customer {
    /// The customer as every response shows them (decisions, section 3).
    pub fn present(&self) -> Map<String, Value> {
        members! {
            "id": self.id,
            "uuid": self.id.uuid(),
            "name": self.name,
            "email": self.email,
            "phone": self.phone,
            "email_verified": self.email_verified_at.is_some(),
            "phone_verified": self.phone_verified_at.is_some(),
            "title": self.title,
            "photo_url": self.photo_url,
            "meta": self.meta,
            "created_at": timestamp(self.created_at),
            "updated_at": timestamp(self.updated_at),
        }
    }

    /// The `data` of an event about this customer.
    fn event_data(&self) -> Map<String, Value> {
        let mut data = self.present();
        data.insert("public_id".to_owned(), json!(self.id));
        data.insert("additionalData".to_owned(), json!({}));
        data
    }

    /// Whether the account lists the phone number or email address with this key, proven or not.
    pub fn lists(&self, key: &str) -> bool {
        self.phone.as_deref() == Some(key) || self.email.as_deref().is_some_and(|email| email.eq_ignore_ascii_case(key))
    }

    /// The address for mails to this customer. Only a proven address receives mails.
    pub fn proven_email(&self) -> Option<EmailAddress> {
        self.email_verified_at?;
        self.email.as_deref().and_then(|email| EmailAddress::parse(email).ok())
    }

    /// The number for texts to this customer. Only a proven number receives texts.
    pub fn proven_phone(&self) -> Option<PhoneNumber> {
        self.phone_verified_at?;
        self.phone.as_deref().and_then(|phone| PhoneNumber::parse(phone).ok())
    }

    /// Whether a code can be sent to this customer.
    pub fn has_proven_contact(&self) -> bool {
        self.proven_phone().is_some() || self.proven_email().is_some()
    }
}

/// Publishes an event about a customer, in the transaction that changes the customer.
pub async fn publish(
    conn: &mut Connection,
    Origin { company, request }: Origin,
    name: EventName,
    customer: &Customer,
    now: DateTime<Utc>,
) -> Result<EventId, sqlx::Error> {
    let (subject, trace, data) = (Some(customer.id.uuid()), traces::context(), customer.event_data().into());
    events::publish(conn, NewEvent { company, name, subject, owner: None, request, trace, data }, now).await
}

#[derive(Clone, Debug)]
pub struct NewCustomer {
    pub id: CustomerId,
    pub store: StoreId,
    pub name: String,
    pub email: Option<EmailAddress>,
    pub email_is_proven: bool,
    pub phone: Option<PhoneNumber>,
    pub phone_is_proven: bool,
    pub password_hash: Option<HashedPassword>,
    /// The test identity that the account is made with, if it is for tests.
    pub test_identity: Option<TestIdentityId>,
    pub profile: Profile,
}

/// What the shop's own servers know of a customer whose account they open. Customers who register have none of it yet.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    pub title: Option<String>,
    pub photo_url: Option<String>,
    pub meta: Option<Value>,
    /// The id of the customer in the systems of the shop.
    pub external_id: Option<String>,
}

/// A customer of another service who moves in.
#[derive(Debug)]
pub struct MovedIn {
    pub id: CustomerId,
    /// What the other service knew the customer by.
    pub external_id: String,
    pub name: String,
    pub email: Option<EmailAddress>,
    pub email_is_proven: bool,
    pub phone: Option<PhoneNumber>,
    pub phone_is_proven: bool,
    pub password_hash: Option<HashedPassword>,
    pub meta: Value,
    /// When the account was opened at the other service.
    pub created_at: DateTime<Utc>,
}

impl NewCustomer {
    /// The identities that belong to the account from the start.
    fn proven(&self) -> impl Iterator<Item = Identity> {
        let email = self.email.clone().filter(|_| self.email_is_proven).map(Identity::Email);
        let phone = self.phone.clone().filter(|_| self.phone_is_proven).map(Identity::Phone);
        email.into_iter().chain(phone)
    }
}

/// Locks the accounts that will lose a claim to the new account. Must be the first lock of the transaction: a flow that proves
/// the same identity for another account also locks the accounts first, before the code and the identity.
pub async fn lock_claims(conn: &mut Connection, newcomer: &NewCustomer) -> Result<(), sqlx::Error> {
    let email = newcomer.email.as_ref().filter(|_| newcomer.email_is_proven).map(|email| email.as_str().to_owned());
    let phone = newcomer.phone.as_ref().filter(|_| newcomer.phone_is_proven).map(|phone| phone.as_str().to_owned());
    let contacts = Contacts { email, email_verified_at: None, phone, phone_verified_at: None };
    queries::lock_claimants_of(conn, newcomer.store, newcomer.id, &contacts).await
}

/// Opens an account and publishes `customer.created`. The identities that the new customer has proven are removed from all
/// accounts that merely claim them, unless the account is for tests.
///
/// The caller must not have locked the row of any other account, except with [`lock_claims`].
pub async fn open_account(
    conn: &mut Connection,
    origin: Origin,
    newcomer: &NewCustomer,
    now: DateTime<Utc>,
) -> Result<(Customer, LostClaims), sqlx::Error> {
    lock_claims(conn, newcomer).await?;
    let mut lost = Vec::new();
    if newcomer.test_identity.is_none() {
        for identity in newcomer.proven() {
            lost.push(settle_claims(conn, (origin, newcomer.store), newcomer.id, &identity, now).await?);
        }
    }
    let customer = queries::insert_customer(conn, origin.company, newcomer, now).await?;
    publish(conn, origin, CUSTOMER_CREATED, &customer, now).await?;
    Ok((customer, lost.into_iter().collect()))
}

/// In characters.
pub const NAME_MAX_LEN: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error("name is required.")]
    Missing,
    #[error("The name may have at most 255 characters and no control characters.")]
    Unusable,
}

/// Parses a name that was entered by hand.
pub fn parse_name(text: &str) -> Result<String, InvalidName> {
    match text.trim() {
        name if is_blank(name) => Err(InvalidName::Missing),
        name if name.chars().count() > NAME_MAX_LEN || name.chars().any(char::is_control) => Err(InvalidName::Unusable),
        name => Ok(name.to_owned()),
    }
}
