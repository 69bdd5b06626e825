//! The SQL of passkeys whose account is taken back, closed, erased or exported.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;

/// Suspends every passkey of a customer: who takes the account back cannot tell which of them are theirs. The caller has locked the account.
pub async fn suspend_passkeys(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update passkeys set suspended_at = coalesce(suspended_at, $2) where customer_id = $1", customer.uuid(), now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the passkeys that were added since an instant. The caller has locked the account.
pub async fn remove_added_since(conn: &mut Connection, customer: CustomerId, since: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from passkeys where customer_id = $1 and created_at >= $2", customer.uuid(), since).execute(conn).await?;
    Ok(())
}

/// Deletes every passkey of a customer, and what authenticators know the customer by. The caller has locked the account.
pub async fn forget_passkeys(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from passkeys where customer_id = $1", customer.uuid()).execute(&mut *conn).await?;
    sqlx::query!("delete from passkey_users where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// Returns every passkey of a customer for the export, oldest first. A public key signs nobody in, and says nothing about the customer.
pub async fn export_passkeys(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(to_jsonb(passkeys) - 'store_id' - 'customer_id' - 'public_key' order by created_at, id), '[]') as "passkeys!"
           from passkeys where customer_id = $1"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
