//! The SQL of customers at the card provider.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CustomerId, GatewayId};
use crate::kernel::secrets::random_hex_32;
use crate::providers::card::CardCustomerId;

/// What we remember of a customer at the provider.
pub(super) struct Entry {
    pub(super) idempotency_key: String,
    /// `None` until the provider has answered.
    pub(super) provider_id: Option<CardCustomerId>,
}

/// The customer's entry, begun if there is none.
pub(super) async fn find_or_insert_entry(
    conn: &mut PgConnection,
    customer: CustomerId,
    gateway: GatewayId,
    now: DateTime<Utc>,
) -> Result<Entry, sqlx::Error> {
    if let Some(entry) = find_entry(conn, customer, gateway).await? {
        return Ok(entry);
    }
    sqlx::query!(
        "insert into card_customers (customer_id, gateway_id, idempotency_key, created_at) values ($1, $2, $3, $4)
         on conflict on constraint card_customers_pkey do nothing",
        customer.uuid(),
        gateway.uuid(),
        random_hex_32(),
        now,
    )
    .execute(&mut *conn)
    .await?;
    find_entry(conn, customer, gateway).await?.ok_or(sqlx::Error::RowNotFound)
}

async fn find_entry(conn: &mut PgConnection, customer: CustomerId, gateway: GatewayId) -> Result<Option<Entry>, sqlx::Error> {
    let row = sqlx::query!(
        "select idempotency_key, provider_id from card_customers where customer_id = $1 and gateway_id = $2",
        customer.uuid(),
        gateway.uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Entry {
        idempotency_key: row.idempotency_key,
        provider_id: row.provider_id.and_then(|id| CardCustomerId::try_from(id).ok()),
    }))
}

/// Keeps the provider's answer, unless the entry has been started over meanwhile.
pub(super) async fn record_provider_id(
    conn: &mut PgConnection,
    customer: CustomerId,
    gateway: GatewayId,
    entry: &Entry,
    provider_id: &CardCustomerId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update card_customers set provider_id = $4 where customer_id = $1 and gateway_id = $2 and idempotency_key = $3",
        customer.uuid(),
        gateway.uuid(),
        entry.idempotency_key,
        provider_id.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets what `entry` says, unless a parallel request has done so already; gives the entry as it is now.
pub(super) async fn start_over(
    conn: &mut PgConnection,
    customer: CustomerId,
    gateway: GatewayId,
    entry: &Entry,
) -> Result<Entry, sqlx::Error> {
    sqlx::query!(
        "update card_customers set idempotency_key = $4, provider_id = null
         where customer_id = $1 and gateway_id = $2 and idempotency_key = $3",
        customer.uuid(),
        gateway.uuid(),
        entry.idempotency_key,
        random_hex_32(),
    )
    .execute(&mut *conn)
    .await?;
    find_entry(conn, customer, gateway).await?.ok_or(sqlx::Error::RowNotFound)
}
