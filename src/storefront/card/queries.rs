//! The SQL of customers' records at the card provider.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::kernel::crypto::random_hex;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, GatewayId};
use crate::providers::card::CardCustomerId;

/// The stored entry of a customer at the provider.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) idempotency_key: String,
    /// The provider's id of the customer. `None` until the provider has created the record.
    pub(super) provider_id: Option<CardCustomerId>,
}

/// Returns the customer's entry. Inserts one if there is none.
pub(super) async fn find_or_insert_entry(
    conn: &mut Connection,
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
        random_hex::<16>(),
        now,
    )
    .execute(&mut *conn)
    .await?;
    find_entry(conn, customer, gateway).await?.ok_or(sqlx::Error::RowNotFound)
}

async fn find_entry(conn: &mut Connection, customer: CustomerId, gateway: GatewayId) -> Result<Option<Entry>, sqlx::Error> {
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

/// Stores the provider's id, unless the entry has been started over in the meantime.
pub(super) async fn record_provider_id(
    conn: &mut Connection,
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

/// Resets the entry, unless a parallel request has done so already, and returns its current state.
pub(super) async fn start_over(
    conn: &mut Connection,
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
        random_hex::<16>(),
    )
    .execute(&mut *conn)
    .await?;
    find_entry(conn, customer, gateway).await?.ok_or(sqlx::Error::RowNotFound)
}

/// Returns the entries of a customer at every gateway for the export, oldest first.
pub async fn export_entries(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(to_jsonb(card_customers) - 'idempotency_key' order by created_at), '[]') as "entries!"
         from card_customers where customer_id = $1"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
