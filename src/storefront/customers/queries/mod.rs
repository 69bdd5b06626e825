//! The SQL of customers.

mod bans;
mod closing;
mod external_ids;
mod languages;
mod locks;
mod moved_in;
mod password_guess;
mod proven_contacts;
mod test_accounts;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::contact::Identity;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, StoreId, TestIdentityId};
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::customers::{Contacts, Customer, NewCustomer};

pub use bans::{lift_ended_bans, set_ban};
pub use closing::{close_customer, erase_closed, list_to_erase};
pub use external_ids::set_external_id;
pub use languages::{find_languages, keep_languages};
pub use locks::{lock_claimants, lock_claimants_of, lock_customer, lock_customer_shared};
pub use moved_in::{insert_moved_in, list_external_ids, list_listed};
pub use password_guess::{PasswordOf, count_password_guess};
pub use proven_contacts::{ProvenContacts, find_proven_contacts};
pub use test_accounts::{is_of_a_customer, is_test, lock_made_with};

pub async fn insert_customer(
    conn: &mut Connection,
    company: CompanyId,
    customer: &NewCustomer,
    now: DateTime<Utc>,
) -> Result<Customer, sqlx::Error> {
    sqlx::query_as!(
        Customer,
        r#"insert into customers (id, store_id, name, email, email_verified_at, phone, phone_verified_at, password_hash, created_at, updated_at,
             company_id, test_identity_id, title, photo_url, meta, external_id)
         values ($1, $2, $3, $4, case when $5 then $9::timestamptz end, $6, case when $7 then $9::timestamptz end, $8, $9, $9, $10, $11,
             $12, $13, coalesce($14::jsonb, '{}'), $15)
         returning id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at"#,
        customer.id.uuid(),
        customer.store.uuid(),
        customer.name,
        customer.email.as_ref().map(|email| email.as_str()),
        customer.email_is_proven,
        customer.phone.as_ref().map(|phone| phone.as_str()),
        customer.phone_is_proven,
        customer.password_hash.as_ref().map(HashedPassword::expose),
        now,
        company.uuid(),
        customer.test_identity.map(TestIdentityId::uuid),
        customer.profile.title,
        customer.profile.photo_url,
        customer.profile.meta,
        customer.profile.external_id,
    )
    .fetch_one(conn)
    .await
}

/// Returns the open account with this id.
pub async fn find_customer(conn: &mut Connection, store: StoreId, id: CustomerId) -> Result<Option<Customer>, sqlx::Error> {
    sqlx::query_as!(
        Customer,
        r#"select id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at
         from customers where store_id = $1 and id = $2 and closed_at is null"#,
        store.uuid(),
        id.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// Returns the open account that `identity` belongs to.
pub async fn find_proven(conn: &mut Connection, store: StoreId, identity: &Identity) -> Result<Option<Customer>, sqlx::Error> {
    let found = list_by_identity(conn, store, identity).await?;
    Ok(found.into_iter().find(|customer| is_proven(customer, identity)))
}

/// Returns the open account that `identity` belongs to, or else the only one that lists it.
pub async fn find_by_identity(conn: &mut Connection, store: StoreId, identity: &Identity) -> Result<Option<Customer>, sqlx::Error> {
    Ok(meant_by(identity, list_by_identity(conn, store, identity).await?))
}

/// Selects from the accounts that list `identity` the one that it belongs to, or else the only one.
pub fn meant_by(identity: &Identity, mut listing: Vec<Customer>) -> Option<Customer> {
    if let Some(owner) = listing.iter().position(|customer| is_proven(customer, identity)) {
        return Some(listing.swap_remove(owner));
    }
    let (first, another) = (listing.pop(), listing.pop());
    if another.is_none() { first } else { None }
}

fn is_proven(customer: &Customer, identity: &Identity) -> bool {
    match identity {
        Identity::Email(_) => customer.email_verified_at.is_some(),
        Identity::Phone(_) => customer.phone_verified_at.is_some(),
    }
}

/// Returns open accounts that list `identity`: the one that it belongs to first, and enough others to tell whether there are
/// several.
async fn list_by_identity(conn: &mut Connection, store: StoreId, identity: &Identity) -> Result<Vec<Customer>, sqlx::Error> {
    let (email, phone) = columns(identity);
    sqlx::query_as!(
        Customer,
        r#"select id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at
         from customers
         where store_id = $1 and closed_at is null and (email_key = $2 or phone = $3)
         order by coalesce(case when $2::text is null then phone_verified_at else email_verified_at end, 'infinity')
         limit 3"#,
        store.uuid(),
        email,
        phone,
    )
    .fetch_all(conn)
    .await
}

/// Removes `identity` from every other account that lists it unproven or is for tests, and returns those accounts in their new state. There are
/// none if `owner` is for tests.
pub(super) async fn remove_claims(
    conn: &mut Connection,
    store: StoreId,
    owner: CustomerId,
    identity: &Identity,
    now: DateTime<Utc>,
) -> Result<Vec<Customer>, sqlx::Error> {
    lock_claimants(conn, store, owner, identity).await?;
    let (email, phone) = columns(identity);
    sqlx::query_as!(
        Customer,
        r#"update customers set
             email = case when $3::text is null then email end,
             email_verified_at = case when $3::text is null then email_verified_at end,
             phone = case when $4::text is null then phone end,
             phone_verified_at = case when $4::text is null then phone_verified_at end,
             updated_at = $5
         where store_id = $1 and id <> $2 and closed_at is null
           and (email_key = $3 and (email_verified_at is null or test_identity_id is not null)
                or phone = $4 and (phone_verified_at is null or test_identity_id is not null))
           and not exists (select from customers as owner where owner.id = $2 and owner.test_identity_id is not null)
         returning id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at"#,
        store.uuid(),
        owner.uuid(),
        email,
        phone,
        now,
    )
    .fetch_all(conn)
    .await
}

/// The values that `email_key` and `phone` are compared with. One of them is `None`.
pub fn columns(identity: &Identity) -> (Option<String>, Option<&str>) {
    match identity {
        Identity::Email(email) => (Some(email.key()), None),
        Identity::Phone(phone) => (None, Some(phone.as_str())),
    }
}

/// Replaces a password hash that was made with older parameters. Returns `false` and changes nothing if the hash has been
/// replaced in the meantime.
pub async fn set_password_hash(
    conn: &mut Connection,
    id: CustomerId,
    older: &HashedPassword,
    newer: &HashedPassword,
) -> Result<bool, sqlx::Error> {
    let replaced = sqlx::query!(
        "update customers set password_hash = $3 where id = $1 and password_hash = $2",
        id.uuid(),
        older.expose(),
        newer.expose(),
    )
    .execute(conn)
    .await?;
    Ok(replaced.rows_affected() == 1)
}

/// Replaces the password hash unconditionally.
pub async fn reset_password(conn: &mut Connection, id: CustomerId, hash: &HashedPassword) -> Result<(), sqlx::Error> {
    sqlx::query!("update customers set password_hash = $2 where id = $1", id.uuid(), hash.expose()).execute(conn).await?;
    Ok(())
}

/// Saves the fields that customers can change themselves.
pub async fn update_profile(conn: &mut Connection, customer: &Customer, now: DateTime<Utc>) -> Result<Option<Customer>, sqlx::Error> {
    sqlx::query_as!(
        Customer,
        r#"update customers set name = $2, title = $3, photo_url = $4, meta = $5, updated_at = $6 where id = $1 and closed_at is null
         returning id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at"#,
        customer.id.uuid(),
        customer.name,
        customer.title,
        customer.photo_url,
        customer.meta,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// Saves a phone number or email address that the customer has proven, in its normalized spelling.
pub async fn set_proven(
    conn: &mut Connection,
    id: CustomerId,
    identity: &Identity,
    now: DateTime<Utc>,
) -> Result<Option<Customer>, sqlx::Error> {
    let (email, phone) = columns(identity);
    sqlx::query_as!(
        Customer,
        r#"update customers set
             email = coalesce($2, email),
             email_verified_at = case when $2::text is null or email_key = $2 and email_verified_at is not null then email_verified_at else $4 end,
             phone = coalesce($3, phone),
             phone_verified_at = case when $3::text is null or phone = $3 and phone_verified_at is not null then phone_verified_at else $4 end,
             updated_at = $4
         where id = $1 and closed_at is null
         returning id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at"#,
        id.uuid(),
        email,
        phone,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// Gives an account its contacts back, as they were.
pub async fn restore_contacts(
    conn: &mut Connection,
    id: CustomerId,
    contacts: &Contacts,
    now: DateTime<Utc>,
) -> Result<Option<Customer>, sqlx::Error> {
    sqlx::query_as!(
        Customer,
        r#"update customers set email = $2, email_verified_at = $3, phone = $4, phone_verified_at = $5, updated_at = $6
         where id = $1 and closed_at is null
         returning id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at"#,
        id.uuid(),
        contacts.email,
        contacts.email_verified_at,
        contacts.phone,
        contacts.phone_verified_at,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// Removes the password: nobody signs in with it any more.
pub async fn remove_password(conn: &mut Connection, id: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("update customers set password_hash = null where id = $1", id.uuid()).execute(conn).await?;
    Ok(())
}

/// The company whose store the account belongs to, open or closed.
pub async fn company_of_customer(conn: &mut Connection, id: CustomerId) -> Result<Option<CompanyId>, sqlx::Error> {
    let found = sqlx::query_scalar!(r#"select company_id as "company_id!" from customer_companies where id = $1"#, id.uuid());
    Ok(found.fetch_optional(conn).await?.map(CompanyId::from))
}

/// Returns the record of a customer, open or closed, for the export, and the customer's company. The hash of the password is left out.
pub async fn export_record(conn: &mut Connection, id: CustomerId) -> Result<Option<(CompanyId, Value)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"select customers.company_id,
                to_jsonb(customers) - 'password_hash' - 'email_key' - 'company_id' || jsonb_build_object('has_password', password_hash is not null) as "record!"
         from customers where id = $1"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.company_id.into(), row.record)))
}
