//! The SQL of what customers do with their passkeys.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, PasskeyId, StoreId};
use crate::storefront::passkeys::NewCredential;

/// What authenticators know the customer by. `fresh` becomes it if there is none yet.
pub async fn find_or_make_handle(
    conn: &mut Connection,
    store: StoreId,
    customer: CustomerId,
    fresh: &[u8],
) -> Result<Vec<u8>, sqlx::Error> {
    sqlx::query_scalar!(
        "insert into passkey_users as known (customer_id, store_id, handle) values ($1, $2, $3)
         on conflict on constraint passkey_users_pkey do update set handle = known.handle returning handle",
        customer.uuid(),
        store.uuid(),
        fresh,
    )
    .fetch_one(conn)
    .await
}

/// Inserts a passkey. Returns `false` if the store knows it already. The caller has locked the account.
pub async fn insert_passkey(
    conn: &mut Connection,
    (store, customer, domain): (StoreId, CustomerId, &str),
    name: &str,
    credential: &NewCredential,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query!(
        "insert into passkeys (id, store_id, customer_id, credential_id, public_key, domain, name, counter, backup_eligible, backed_up, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict on constraint passkeys_credential do nothing",
        PasskeyId::new(now).uuid(),
        store.uuid(),
        customer.uuid(),
        credential.id,
        credential.public_key,
        domain,
        name,
        i64::from(credential.counter),
        credential.backup_eligible,
        credential.backed_up,
        now,
    );
    Ok(inserted.execute(conn).await?.rows_affected() == 1)
}

/// Whether the customer has this very passkey.
pub async fn has_passkey(conn: &mut Connection, customer: CustomerId, credential: &NewCredential) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
               select from passkeys where customer_id = $1 and credential_id = $2 and public_key = $3
           ) as "is_there!""#,
        customer.uuid(),
        credential.id,
        credential.public_key,
    )
    .fetch_one(conn)
    .await
}

/// The number of passkeys of a customer.
pub async fn count_passkeys(conn: &mut Connection, customer: CustomerId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"select count(*) as "count!" from passkeys where customer_id = $1"#, customer.uuid()).fetch_one(conn).await
}

/// A passkey, as its customer sees it.
#[derive(Debug)]
pub struct OwnPasskey {
    pub id: PasskeyId,
    pub credential_id: Vec<u8>,
    pub name: String,
    pub backed_up: bool,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
    pub is_suspended: bool,
}

/// Returns the passkeys of a customer, oldest first.
pub async fn list_passkeys(conn: &mut Connection, customer: CustomerId) -> Result<Vec<OwnPasskey>, sqlx::Error> {
    sqlx::query_as!(
        OwnPasskey,
        r#"select id as "id: PasskeyId", credential_id, name, backed_up, created_at, last_used_at,
                  suspended_at is not null as "is_suspended!"
           from passkeys where customer_id = $1 order by created_at, id"#,
        customer.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// Whether the customer can sign in with a passkey of this domain.
pub async fn has_usable(conn: &mut Connection, customer: CustomerId, domain: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
               select from passkeys where customer_id = $1 and domain = $2 and suspended_at is null
           ) as "is_there!""#,
        customer.uuid(),
        domain,
    )
    .fetch_one(conn)
    .await
}

/// Renames a passkey. Returns `false` if it is not the customer's.
pub async fn rename_passkey(conn: &mut Connection, customer: CustomerId, id: PasskeyId, name: &str) -> Result<bool, sqlx::Error> {
    let renamed = sqlx::query!("update passkeys set name = $3 where customer_id = $1 and id = $2", customer.uuid(), id.uuid(), name);
    Ok(renamed.execute(conn).await?.rows_affected() == 1)
}

/// Lets a suspended passkey sign its customer in again, and returns its name. The caller has locked the account.
pub async fn resume_passkey(conn: &mut Connection, customer: CustomerId, id: PasskeyId) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "update passkeys set suspended_at = null where customer_id = $1 and id = $2 and suspended_at is not null returning name",
        customer.uuid(),
        id.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes a passkey and returns its name. The caller has locked the account.
pub async fn remove_passkey(conn: &mut Connection, customer: CustomerId, id: PasskeyId) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!("delete from passkeys where customer_id = $1 and id = $2 returning name", customer.uuid(), id.uuid())
        .fetch_optional(conn)
        .await
}
