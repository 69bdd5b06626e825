//! The SQL of replays: their progress and their keys.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, ReplayId, SubscriptionId};
use crate::webhooks::delivery_state::Repeatable;
use crate::webhooks::engine::repeat::{Batch, Remaining};
use crate::webhooks::replays::keys::Key;

/// A replay that is locked to be worked on.
#[derive(Debug)]
pub(super) struct Locked {
    id: ReplayId,
    pub(super) remaining: Remaining,
}

/// The unfinished replays, except while deliveries that they may concern are still being cancelled.
pub(super) async fn find_unfinished(conn: &mut Connection) -> Result<Vec<ReplayId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: ReplayId" from replays where finished_at is null
           and not exists (select from cancellations where cancellations.subscription_id = replays.subscription_id)
           -- what it repeats may be on its way
           and not exists (select from moving_companies where moving_companies.company_id = replays.company_id)
           order by created_at"#,
    )
    .fetch_all(conn)
    .await
}

/// Whether deliveries of the subscription in this state are being replayed.
pub(super) async fn is_under_way(conn: &mut Connection, subscription: SubscriptionId, state: Repeatable) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from replays where subscription_id = $1 and state = $2 and finished_at is null
           ) as "is_under_way!""#,
        subscription.uuid(),
        state as Repeatable,
    )
    .fetch_one(conn)
    .await
}

/// Locks an unfinished replay; `None` if it is finished or locked by another transaction.
pub(super) async fn lock_replay(conn: &mut Connection, id: ReplayId) -> Result<Option<Locked>, sqlx::Error> {
    let row = sqlx::query!(
        r#"select subscription_id as "subscription: SubscriptionId", state as "state: Repeatable", until, events, position_at, position_id
           from replays where id = $1 and finished_at is null
           for no key update skip locked"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await?;
    let remaining = row.map(|row| Remaining {
        subscription: row.subscription,
        state: row.state,
        until: row.until,
        events: row.events,
        position_at: row.position_at,
        position_id: row.position_id,
    });
    Ok(remaining.map(|remaining| Locked { id, remaining }))
}

pub(super) async fn record_progress(
    conn: &mut Connection,
    replay: &Locked,
    batch: &Batch,
    finished: bool,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update replays
         set made = made + $2, position_at = coalesce($3, position_at), position_id = coalesce($4, position_id),
             finished_at = case when $5 then $6::timestamptz end, version = version + 1, updated_at = $6
         where id = $1",
        replay.id.uuid(),
        batch.made,
        batch.last_at,
        batch.last_id,
        finished,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends the unfinished replays of a subscription where they are.
pub async fn stop_replays(conn: &mut Connection, subscription: SubscriptionId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update replays set finished_at = $2, version = version + 1, updated_at = $2 where subscription_id = $1 and finished_at is null",
        subscription.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the replays that ended before `before`. There are few of them, because each was requested individually.
pub async fn delete_ended(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from replays where finished_at < $1", before).execute(conn).await?;
    Ok(())
}

/// A stored idempotency key.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) digest: Vec<u8>,
    /// The id of the replay or delivery that was created, or of the event that was replayed.
    pub(super) made: Uuid,
    /// Number of deliveries that were created, if an event was replayed.
    pub(super) count: i64,
}

/// Stores a key, unless it has been used since `cutoff`. Returns whether it was stored. Waits for a concurrent request with the key.
pub(super) async fn take_key(
    conn: &mut Connection,
    company: CompanyId,
    key: &Key,
    made: Uuid,
    now: DateTime<Utc>,
    cutoff: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let taken = sqlx::query!(
        "insert into replay_keys (company_id, key, digest, made, created_at) values ($1, $2, $3, $4, $5)
         on conflict (company_id, key) do update
         set digest = excluded.digest, made = excluded.made, count = excluded.count, created_at = excluded.created_at
         where replay_keys.created_at <= $6",
        company.uuid(),
        key.text,
        &key.digest,
        made,
        now,
        cutoff,
    )
    .execute(conn)
    .await?;
    Ok(taken.rows_affected() > 0)
}

pub(super) async fn find_key(conn: &mut Connection, company: CompanyId, key: &Key) -> Result<Kept, sqlx::Error> {
    sqlx::query_as!(Kept, "select digest, made, count from replay_keys where company_id = $1 and key = $2", company.uuid(), key.text)
        .fetch_one(conn)
        .await
}

/// Stores the number of deliveries that were created under a key.
pub(super) async fn record_count(conn: &mut Connection, company: CompanyId, key: &Key, count: i64) -> Result<(), sqlx::Error> {
    sqlx::query!("update replay_keys set count = $3 where company_id = $1 and key = $2", company.uuid(), key.text, count)
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn delete_keys_until(conn: &mut Connection, cutoff: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from replay_keys where created_at <= $1", cutoff).execute(conn).await?;
    Ok(())
}
