//! The SQL of push devices.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::{Connection, column};
use crate::kernel::ids::{CustomerId, DeviceId, SessionId, StoreId};
use crate::storefront::accounts::devices::push_token::{self, Digest, SealedToken};

pub(super) struct Device {
    pub(super) id: DeviceId,
    pub(super) store: StoreId,
    pub(super) customer: CustomerId,
    pub(super) session: SessionId,
    pub(super) platform: String,
    pub(super) token: SealedToken,
}

/// Inserts a device, or reassigns the one with this token. Returns its id, and whether the customer did not have it before. The caller has
/// locked the account.
pub(super) async fn upsert_device(conn: &mut Connection, device: &Device, now: DateTime<Utc>) -> Result<(DeviceId, bool), sqlx::Error> {
    let row = sqlx::query!(
        r#"with before as (
             select customer_id from devices where store_id = $2 and token_digest = $6
         )
         insert into devices (id, store_id, customer_id, platform, sealed_token, token_digest, created_at, updated_at, session_id)
         values ($1, $2, $3, $4, $5, $6, $7, $7, $8)
         on conflict on constraint devices_token_key do update
             set customer_id = excluded.customer_id, session_id = excluded.session_id, platform = excluded.platform, sealed_token = excluded.sealed_token,
                 updated_at = excluded.updated_at
         returning id as "id: DeviceId", (select customer_id from before) is distinct from $3 as "is_added!""#,
        device.id.uuid(),
        device.store.uuid(),
        device.customer.uuid(),
        device.platform,
        device.token.sealed,
        device.token.digest.as_slice(),
        now,
        device.session.uuid(),
    )
    .fetch_one(conn)
    .await?;
    Ok((row.id, row.is_added))
}

/// Deletes the devices of a customer beyond so many, those first that were registered longest ago. The caller has locked the account.
pub(super) async fn forget_crowd(conn: &mut Connection, customer: CustomerId, kept: i64) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from devices where customer_id = $1 and id in (
             select id from devices where customer_id = $1 order by updated_at desc, id desc offset $2
         )",
        customer.uuid(),
        kept,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes one of the customer's own devices. Returns `false` if there is none.
pub(super) async fn delete_device(
    conn: &mut Connection,
    customer: CustomerId,
    id: Option<DeviceId>,
    digest: Option<Digest>,
) -> Result<bool, sqlx::Error> {
    let deleted = sqlx::query!(
        "delete from devices where customer_id = $1 and (id = $2 or token_digest = $3)",
        customer.uuid(),
        id.map(DeviceId::uuid),
        digest.as_ref().map(Digest::as_slice),
    )
    .execute(conn)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

/// Deletes the devices of these sessions of a customer.
pub async fn forget_of_sessions(conn: &mut Connection, customer: CustomerId, sessions: &[SessionId]) -> Result<(), sqlx::Error> {
    let sessions = column(sessions, |session| session.uuid());
    sqlx::query!("delete from devices where customer_id = $1 and session_id = any($2)", customer.uuid(), &sessions).execute(conn).await?;
    Ok(())
}

/// Deletes the devices of all sessions of a customer but one.
pub async fn forget_others(conn: &mut Connection, customer: CustomerId, kept: SessionId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from devices where customer_id = $1 and session_id is distinct from $2", customer.uuid(), kept.uuid())
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the devices of the sessions that ended within a period. One that is revoked takes its devices along at once; one that expires is
/// found here.
pub async fn sweep_devices(conn: &mut Connection, since: DateTime<Utc>, until: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from devices using session_ends as ended
         where ended.ended_at > $1 and ended.ended_at <= $2 and devices.customer_id = ended.customer_id and devices.session_id = ended.id",
        since,
        until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn forget_devices(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from devices where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// A device, without what the push service knows it by.
#[derive(Debug)]
pub struct KnownDevice {
    pub id: DeviceId,
    pub platform: String,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Returns the devices of a customer that were registered last before an instant.
pub async fn list_known(
    conn: &mut Connection,
    customer: CustomerId,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<KnownDevice>, sqlx::Error> {
    sqlx::query_as!(
        KnownDevice,
        r#"select id as "id: DeviceId", platform, created_at, updated_at from devices
           where customer_id = $1 and updated_at < $2 order by updated_at desc limit $3"#,
        customer.uuid(),
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns every device of a customer for the export, with its token in plain text if the key is given.
pub async fn list_devices(conn: &mut Connection, key: Option<&ApplicationKey>, customer: CustomerId) -> Result<Vec<Value>, sqlx::Error> {
    let rows = sqlx::query!(
        "select id, platform, token_digest, sealed_token, created_at, updated_at from devices where customer_id = $1 order by created_at",
        customer.uuid(),
    )
    .fetch_all(conn)
    .await?;
    let devices = rows.into_iter().map(|row| -> Result<Value, sqlx::Error> {
        let (created_at, updated_at) = (timestamp(row.created_at), timestamp(row.updated_at));
        let mut device = json!({ "id": row.id, "platform": row.platform, "created_at": created_at, "updated_at": updated_at });
        if let Some(key) = key {
            let token = push_token::open(key, &row.token_digest, &row.sealed_token);
            device["token"] = token.map_err(|error| sqlx::Error::Decode(error.into()))?.into();
        }
        Ok(device)
    });
    devices.collect()
}
