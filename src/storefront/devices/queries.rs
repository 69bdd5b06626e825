//! The SQL of push devices.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CustomerId, DeviceId, StoreId};

pub(super) struct Device {
    pub(super) id: DeviceId,
    pub(super) store: StoreId,
    pub(super) customer: CustomerId,
    pub(super) platform: String,
    pub(super) token: String,
    pub(super) digest: [u8; 32],
}

/// Registers a device, or hands the one with this token over; gives the id it has. `None`, and nothing done, when the account is closed; whoever
/// is about to close it is waited for, and waits.
pub(super) async fn upsert_device(conn: &mut PgConnection, device: &Device, now: DateTime<Utc>) -> Result<Option<DeviceId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "insert into devices (id, store_id, customer_id, platform, token, token_digest, created_at, updated_at)
         select $1, $2, $3, $4, $5, $6, $7, $7 from customers where id = $3 and closed_at is null for share
         on conflict on constraint devices_token_key do update
             set customer_id = excluded.customer_id, platform = excluded.platform, updated_at = excluded.updated_at
         returning id",
        device.id.uuid(),
        device.store.uuid(),
        device.customer.uuid(),
        device.platform,
        device.token,
        device.digest.as_slice(),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(Into::into))
}

/// Removes one of the customer's own devices; `false` when there is none like it.
pub(super) async fn delete_device(
    conn: &mut PgConnection,
    customer: CustomerId,
    id: Option<DeviceId>,
    digest: Option<[u8; 32]>,
) -> Result<bool, sqlx::Error> {
    let deleted = sqlx::query!(
        "delete from devices where customer_id = $1 and (id = $2 or token_digest = $3)",
        customer.uuid(),
        id.map(DeviceId::uuid),
        digest.as_ref().map(<[u8; 32]>::as_slice),
    )
    .execute(conn)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

/// Drops every device of a customer.
pub(in crate::storefront) async fn forget_devices(conn: &mut PgConnection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from devices where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}
