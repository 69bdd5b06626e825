//! The SQL of replays. Rows are only added to `waiting`, which needs no lock of the endpoint.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::ids::{CompanyId, DeliveryId, EventId, ReplayId, SubscriptionId};
use crate::webhooks::replays::keys::Key;
use crate::webhooks::replays::replay::{Repeatable, Wanted};

/// The number of deliveries created from `wanted.since` until `until` that would be replayed.
pub(super) async fn count_repeated(
    conn: &mut PgConnection,
    subscription: SubscriptionId,
    wanted: Wanted,
    until: DateTime<Utc>,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from deliveries
         where subscription_id = $1 and state = $2 and replay_of is null
         and created_at >= $3 and created_at <= $4 and id >= uuid_v7_floor($3)
         and exists (select from events where events.id = deliveries.event_id)
         and ($2 <> 'failed' or not exists (
             select from deliveries as again
             where again.event_id = deliveries.event_id and again.subscription_id = $1 and again.state = 'delivered'
         ))"#,
        subscription.uuid(),
        wanted.state as Repeatable,
        wanted.since,
        until,
    )
    .fetch_one(conn)
    .await
}

/// A replay that is locked to be worked on.
#[derive(Debug)]
pub(super) struct Locked {
    id: ReplayId,
    subscription_id: SubscriptionId,
    state: Repeatable,
    until: DateTime<Utc>,
    position_at: DateTime<Utc>,
    position_id: Uuid,
}

/// The unfinished replays, except while deliveries that they may concern are still being cancelled.
pub(super) async fn find_unfinished(conn: &mut PgConnection) -> Result<Vec<ReplayId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: ReplayId" from replays where finished_at is null
           and not exists (select from endpoints where endpoints.subscription_id = replays.subscription_id and called_off_before is not null)
           order by created_at"#,
    )
    .fetch_all(conn)
    .await
}

/// Locks an unfinished replay; `None` if it is finished or locked by another transaction.
pub(super) async fn lock_replay(conn: &mut PgConnection, id: ReplayId) -> Result<Option<Locked>, sqlx::Error> {
    sqlx::query_as!(
        Locked,
        r#"select id as "id: ReplayId", subscription_id as "subscription_id: SubscriptionId", state as "state: Repeatable", until,
                  position_at, position_id
           from replays where id = $1 and finished_at is null
           for no key update skip locked"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// The result of one batch.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) made: i64,
    last_at: Option<DateTime<Utc>>,
    last_id: Option<Uuid>,
}

/// Creates the next `limit` deliveries of a replay.
pub(super) async fn repeat_batch(conn: &mut PgConnection, replay: &Locked, limit: i64, now: DateTime<Utc>) -> Result<Batch, sqlx::Error> {
    let time = &DeliveryId::new(now).uuid().to_string()[..15];
    sqlx::query_as!(
        Batch,
        r#"with repeated as materialized (
             select id, company_id, event_id, event, sequence, created_at from deliveries
             where subscription_id = $1 and state = $2 and replay_of is null
             and (created_at, id) > ($3, $4) and created_at <= $5 and id >= uuid_v7_floor($3)
             and exists (select from events where events.id = deliveries.event_id)
             and ($2 <> 'failed' or not exists (
                 select from deliveries as again
                 where again.event_id = deliveries.event_id and again.subscription_id = $1 and again.state = 'delivered'
             ))
             order by created_at, id limit $6
         ), made as (
             insert into waiting (id, company_id, subscription_id, event_id, event, sequence, replay_of, lane, due_at, created_at, updated_at)
             select ($8 || substr(gen_random_uuid()::text, 16))::uuid, company_id, $1, event_id, event, sequence, id, 3, $7, $7, $7
             from repeated
         )
         select count(*) as "made!", (array_agg(created_at order by created_at desc, id desc))[1] as last_at,
                (array_agg(id order by created_at desc, id desc))[1] as last_id
         from repeated"#,
        replay.subscription_id.uuid(),
        replay.state as Repeatable,
        replay.position_at,
        replay.position_id,
        replay.until,
        limit,
        now,
        time,
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn record_progress(
    conn: &mut PgConnection,
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
pub async fn stop_replays(
    conn: &mut PgConnection,
    subscription: SubscriptionId,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update replays set finished_at = $2, version = version + 1, updated_at = $2 where subscription_id = $1 and finished_at is null",
        subscription.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether the delivery is still waiting or in flight, cancelled or not.
pub(super) async fn is_open(conn: &mut PgConnection, id: DeliveryId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (select from waiting where id = $1) or exists (select from in_flight where id = $1) as "is_open!""#,
        id.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// Creates the replay `again` of a closed delivery, if its event is still kept. Returns whether it is.
pub(super) async fn repeat_delivery(
    conn: &mut PgConnection,
    id: DeliveryId,
    again: DeliveryId,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let made = sqlx::query!(
        "insert into waiting (id, company_id, subscription_id, event_id, event, sequence, replay_of, lane, due_at, created_at, updated_at)
         select $2, company_id, subscription_id, event_id, event, sequence, id, 3, $3, $3, $3 from deliveries
         where id = $1 and exists (select from events where events.id = deliveries.event_id)",
        id.uuid(),
        again.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(made.rows_affected() > 0)
}

/// Creates a delivery of an event for each enabled subscription that wants it and has no open delivery of it. A test event is
/// replayed only to the subscription it was sent to. Where the event was not delivered before, the new delivery is an ordinary
/// first one. With `count_only`, nothing is created. `None` if the company has no such event.
pub(super) async fn repeat_event(
    conn: &mut PgConnection,
    company: CompanyId,
    event: EventId,
    count_only: bool,
    now: DateTime<Utc>,
) -> Result<Option<i64>, sqlx::Error> {
    let time = &DeliveryId::new(now).uuid().to_string()[..15];
    sqlx::query_scalar!(
        r#"with event as (
             select id, company_id, name, sequence, addressed_to from events where id = $1 and company_id = $2
         ), wanted as materialized (
             select event.*, subscriptions.id as subscription_id,
                    (select id from deliveries where event_id = $1 and subscription_id = subscriptions.id order by id desc limit 1) as before
             from event join subscriptions on subscriptions.company_id = event.company_id
             where subscriptions.status = 'enabled' and subscriptions.deleted_at is null
             and case when event.addressed_to is null
                      then subscriptions.events = '{}' or subscriptions.events && array['*', event.name, split_part(event.name, '.', 1) || '.*']
                      else event.addressed_to = subscriptions.id end
             and not exists (
                 select from waiting join endpoints using (subscription_id)
                 where event_id = $1 and subscription_id = subscriptions.id and place >= coalesce(called_off_before, 0)
             )
             and not exists (select from in_flight where event_id = $1 and subscription_id = subscriptions.id)
             for share of subscriptions
         ), made as (
             insert into waiting (id, company_id, subscription_id, event_id, event, sequence, replay_of, lane, due_at, created_at, updated_at)
             select ($5 || substr(gen_random_uuid()::text, 16))::uuid, company_id, subscription_id, id, name, sequence, before,
                    case when before is null then 0 else 3 end, $4, $4, $4
             from wanted where not $3
         )
         select (select count(*) from wanted) as "count!" from event"#,
        event.uuid(),
        company.uuid(),
        count_only,
        now,
        time,
    )
    .fetch_optional(conn)
    .await
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
    conn: &mut PgConnection,
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

/// Finds a stored key.
pub(super) async fn find_key(conn: &mut PgConnection, company: CompanyId, key: &Key) -> Result<Kept, sqlx::Error> {
    sqlx::query_as!(Kept, "select digest, made, count from replay_keys where company_id = $1 and key = $2", company.uuid(), key.text)
        .fetch_one(conn)
        .await
}

/// Stores the number of deliveries that were created under a key.
pub(super) async fn record_count(conn: &mut PgConnection, company: CompanyId, key: &Key, count: i64) -> Result<(), sqlx::Error> {
    sqlx::query!("update replay_keys set count = $3 where company_id = $1 and key = $2", company.uuid(), key.text, count)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the keys stored until `cutoff`.
pub(super) async fn delete_keys_until(conn: &mut PgConnection, cutoff: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from replay_keys where created_at <= $1", cutoff).execute(conn).await?;
    Ok(())
}
