//! The SQL that tells accounts for tests, which were made with a test identity, from those of customers.

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId, TestIdentityId};

/// Whether an open account of a customer has this phone number or email address, as a key: proven, or at least listed.
pub async fn is_of_a_customer(conn: &mut Connection, store: StoreId, identity: &str, needs_proof: bool) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
               select from customers
               where store_id = $1 and closed_at is null and test_identity_id is null
                     and (email_key = $2 and (email_verified_at is not null or not $3)
                          or phone = $2 and (phone_verified_at is not null or not $3))
           ) as "exists!""#,
        store.uuid(),
        identity,
        needs_proof,
    )
    .fetch_one(conn)
    .await
}

/// Whether the account is for tests.
pub async fn is_test(conn: &mut Connection, id: CustomerId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists (select from customers where id = $1 and test_identity_id is not null) as "exists!""#, id.uuid(),)
        .fetch_one(conn)
        .await
}

/// Locks and returns the open accounts that were made with a test identity, in the order of their ids.
pub async fn lock_made_with(conn: &mut Connection, tested: TestIdentityId) -> Result<Vec<CustomerId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: CustomerId" from customers where test_identity_id = $1 and closed_at is null order by id for no key update"#,
        tested.uuid(),
    )
    .fetch_all(conn)
    .await
}
