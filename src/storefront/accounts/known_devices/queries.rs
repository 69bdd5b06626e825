//! The SQL of the devices that customers are known to use.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};

/// What was known before a sign-in.
pub(super) struct Known {
    /// Whether the device was known.
    pub(super) this: bool,
    /// How many others were.
    pub(super) others: i64,
}

/// Remembers a device, and returns what was known before.
pub(super) async fn remember_device(
    conn: &mut Connection,
    (store, customer): (StoreId, CustomerId),
    device: &str,
    now: DateTime<Utc>,
) -> Result<Known, sqlx::Error> {
    // A part of a statement that writes is not seen by the others: the count is of before. Of parallel sign-ins one inserts the device.
    sqlx::query_as!(
        Known,
        r#"with inserted as (
             insert into seen_devices (customer_id, device, store_id, last_seen_at, first_seen_at) values ($1, $2, $3, $4, $4)
             on conflict on constraint seen_devices_pkey do nothing
             returning device
         ), seen_again as (
             update seen_devices set last_seen_at = $4 where customer_id = $1 and device = $2 and not exists (select from inserted)
         )
         select not exists (select from inserted) as "this!", count(*) filter (where device <> $2) as "others!"
         from seen_devices where customer_id = $1"#,
        customer.uuid(),
        device,
        store.uuid(),
        now,
    )
    .fetch_one(conn)
    .await
}

/// Forgets the devices of a customer beyond the number that are kept, those first that were used the longest ago.
pub(super) async fn forget_oldest(conn: &mut Connection, customer: CustomerId, kept: i64) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from seen_devices where customer_id = $1 and device in (
             select device from seen_devices where customer_id = $1 order by last_seen_at desc, device offset $2
         )",
        customer.uuid(),
        kept,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets the devices of a customer.
pub async fn forget_known_devices(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from seen_devices where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}
