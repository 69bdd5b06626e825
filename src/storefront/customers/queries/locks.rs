//! The locks on accounts. A transaction takes them before any other, in the order of the ids of the accounts.

use crate::contact::Identity;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::customers::queries::columns;
use crate::storefront::customers::{Contacts, Customer};

/// Locks the account of `owner` and every account that lists `identity` until the transaction ends, in the order of their ids.
/// Without this order, two customers who prove each other's unproven identities would deadlock.
pub async fn lock_claimants(conn: &mut Connection, store: StoreId, owner: CustomerId, identity: &Identity) -> Result<(), sqlx::Error> {
    let (email, phone) = columns(identity);
    lock_listing(conn, store, owner, email.as_deref(), phone).await
}

/// The same for both contacts of an account.
pub async fn lock_claimants_of(conn: &mut Connection, store: StoreId, owner: CustomerId, contacts: &Contacts) -> Result<(), sqlx::Error> {
    let email = contacts.email.as_ref().map(|email| email.to_ascii_lowercase());
    lock_listing(conn, store, owner, email.as_deref(), contacts.phone.as_deref()).await
}

async fn lock_listing(
    conn: &mut Connection,
    store: StoreId,
    owner: CustomerId,
    email: Option<&str>,
    phone: Option<&str>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "select id from customers where store_id = $1 and closed_at is null and (id = $2 or email_key = $3 or phone = $4)
         order by id for no key update",
        store.uuid(),
        owner.uuid(),
        email,
        phone,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// Returns the open account and locks it against changes until the transaction ends.
pub async fn lock_customer(conn: &mut Connection, id: CustomerId) -> Result<Option<Customer>, sqlx::Error> {
    sqlx::query_as!(
        Customer,
        r#"select id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at
         from customers where id = $1 and closed_at is null for no key update"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// Takes a shared lock on an open account until the transaction ends. Returns `None` if the account is closed.
pub async fn lock_customer_shared(conn: &mut Connection, id: CustomerId) -> Result<Option<Customer>, sqlx::Error> {
    sqlx::query_as!(
        Customer,
        r#"select id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at
         from customers where id = $1 and closed_at is null for share"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await
}
