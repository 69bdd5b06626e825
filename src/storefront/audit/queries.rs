//! The SQL of the audit.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CustomerId, SignInId, StoreId};

pub(super) struct Entry {
    pub(super) id: SignInId,
    pub(super) store: StoreId,
    pub(super) customer: Option<CustomerId>,
    pub(super) method: &'static str,
    pub(super) identity: Option<String>,
    pub(super) outcome: &'static str,
    pub(super) address: String,
    pub(super) user_agent: Option<String>,
}

pub(super) async fn insert_sign_in(conn: &mut PgConnection, entry: &Entry, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into sign_ins (id, store_id, customer_id, method, identity, outcome, address, user_agent, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        entry.id.uuid(),
        entry.store.uuid(),
        entry.customer.map(CustomerId::uuid),
        entry.method,
        entry.identity,
        entry.outcome,
        entry.address,
        entry.user_agent,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Drops the entries made before `before`.
pub(in crate::storefront) async fn forget_sign_ins(conn: &mut PgConnection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from sign_ins where created_at < $1", before).execute(conn).await?;
    Ok(())
}

/// Blanks what identifies the customers whose accounts were erased.
pub(in crate::storefront) async fn forget_identity(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update sign_ins set identity = null, address = '', user_agent = null
         from customers where customers.id = sign_ins.customer_id and customers.erased_at is not null and sign_ins.address <> ''",
    )
    .execute(conn)
    .await?;
    Ok(())
}
