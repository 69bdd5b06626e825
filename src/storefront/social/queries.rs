//! The SQL of provider links.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CustomerId, StoreId};
use crate::providers::identity::VerifiedIdentity;
use crate::storefront::customers::{Customer, find_customer};

/// Returns the open account that this identity is linked to.
pub(super) async fn find_linked(
    conn: &mut PgConnection,
    store: StoreId,
    identity: &VerifiedIdentity,
) -> Result<Option<Customer>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        r#"select customer_id as "id: CustomerId" from provider_links where store_id = $1 and provider = $2 and subject = $3"#,
        store.uuid(),
        identity.provider.as_str(),
        identity.subject.as_str(),
    )
    .fetch_optional(&mut *conn)
    .await?;
    match id {
        Some(id) => find_customer(conn, store, id).await,
        None => Ok(None),
    }
}

/// Links the identity to an account. Returns `false` if it is already linked to an open account. A link to a closed account is
/// replaced: a sign-in can create one while the account is being closed.
pub(super) async fn link(
    conn: &mut PgConnection,
    store: StoreId,
    identity: &VerifiedIdentity,
    customer: CustomerId,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let linked = sqlx::query!(
        "insert into provider_links as older (store_id, provider, subject, customer_id, linked_at) values ($1, $2, $3, $4, $5)
         on conflict on constraint provider_links_pkey do update set customer_id = excluded.customer_id, linked_at = excluded.linked_at
         where exists (select from customers where customers.id = older.customer_id and customers.closed_at is not null)",
        store.uuid(),
        identity.provider.as_str(),
        identity.subject.as_str(),
        customer.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(linked.rows_affected() == 1)
}

/// Deletes every link of a customer. A later sign-in with the provider opens a new account.
pub(in crate::storefront) async fn forget_links(conn: &mut PgConnection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from provider_links where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}
