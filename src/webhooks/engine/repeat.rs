//! Repeating: makes new deliveries from closed ones, or of an event. Rows are only added to `waiting`, which needs no lock of the endpoint.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::callers::{Caller, Owner};
use crate::kernel::database::Connection;
use crate::kernel::ids::{DeliveryId, EventId, SubscriptionId};
use crate::webhooks::delivery_state::Repeatable;

/// Which deliveries are replayed.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub state: Repeatable,
    /// Only deliveries created from this instant on,
    pub since: DateTime<Utc>,
    /// and up to this one.
    pub until: DateTime<Utc>,
    /// Names of events and groups, as subscriptions have them. Empty: all events.
    pub events: &'a [String],
}

/// The number of deliveries that would be replayed.
pub async fn count_repeated(conn: &mut Connection, subscription: SubscriptionId, wanted: Wanted<'_>) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from deliveries
         where subscription_id = $1 and state = $2 and replay_of is null
         and created_at >= $3 and created_at <= $4 and id >= uuid_v7_floor($3)
         and ($5::text[] = '{}' or $5 && array['*', event, split_part(event, '.', 1) || '.*'])
         and exists (select from event_stream where event_stream.id = deliveries.event_id)
         and ($2 <> 'failed' or not exists (
             select from deliveries as again
             where again.event_id = deliveries.event_id and again.subscription_id = $1 and again.state = 'delivered'
         ))"#,
        subscription.uuid(),
        wanted.state as Repeatable,
        wanted.since,
        wanted.until,
        wanted.events,
    )
    .fetch_one(conn)
    .await
}

/// What is left of a replay of many deliveries: those behind the last one that was repeated.
#[derive(Debug)]
pub struct Remaining {
    pub subscription: SubscriptionId,
    pub state: Repeatable,
    /// Only deliveries created until this instant are repeated.
    pub until: DateTime<Utc>,
    pub events: Vec<String>,
    pub position_at: DateTime<Utc>,
    pub position_id: Uuid,
}

#[derive(Debug)]
pub struct Batch {
    pub made: i64,
    pub last_at: Option<DateTime<Utc>>,
    pub last_id: Option<Uuid>,
}

/// Creates the next `limit` deliveries of a replay.
pub async fn repeat_batch(conn: &mut Connection, replay: &Remaining, limit: i64, now: DateTime<Utc>) -> Result<Batch, sqlx::Error> {
    let time = &DeliveryId::new(now).uuid().to_string()[..15];
    sqlx::query_as!(
        Batch,
        r#"with repeated as materialized (
             select id, company_id, event_id, event, sequence, created_at from deliveries
             where subscription_id = $1 and state = $2 and replay_of is null
             and (created_at, id) > ($3, $4) and created_at <= $5 and id >= uuid_v7_floor($3)
             and ($9::text[] = '{}' or $9 && array['*', event, split_part(event, '.', 1) || '.*'])
             and exists (select from event_stream where event_stream.id = deliveries.event_id)
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
        replay.subscription.uuid(),
        replay.state as Repeatable,
        replay.position_at,
        replay.position_id,
        replay.until,
        limit,
        now,
        time,
        &replay.events,
    )
    .fetch_one(conn)
    .await
}

/// Whether the delivery is still waiting or in flight, cancelled or not.
pub async fn is_open(conn: &mut Connection, id: DeliveryId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (select from waiting where id = $1) or exists (select from in_flight where id = $1) as "is_open!""#,
        id.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// Creates the replay `again` of a closed delivery, if its event is still kept. Returns whether it is.
pub async fn repeat_delivery(conn: &mut Connection, id: DeliveryId, again: DeliveryId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let made = sqlx::query!(
        "insert into waiting (id, company_id, subscription_id, event_id, event, sequence, replay_of, lane, due_at, created_at, updated_at)
         select $2, company_id, subscription_id, event_id, event, sequence, id, 3, $3, $3, $3 from deliveries
         where id = $1 and exists (select from event_stream where event_stream.id = deliveries.event_id)",
        id.uuid(),
        again.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(made.rows_affected() > 0)
}

/// Creates a delivery of an event for each subscription that is not disabled, wants it and has no open delivery of it, and returns these
/// subscriptions. A test event is replayed only to the subscription it was sent to. Where the event was not delivered before, the new delivery is an
/// ordinary first one. With `count_only`, nothing is created. `None` if the company has no such event. A caller who is restricted to one owner
/// repeats events of that owner to webhooks of that owner.
pub async fn repeat_event(
    conn: &mut Connection,
    caller: &Caller,
    event: EventId,
    count_only: bool,
    now: DateTime<Utc>,
) -> Result<Option<Vec<Uuid>>, sqlx::Error> {
    let time = &DeliveryId::new(now).uuid().to_string()[..15];
    sqlx::query_scalar!(
        r#"with event as (
             select id, company_id, name, sequence, addressed_to, owner from event_stream
             where id = $1 and company_id = $2 and ($6::text is null or owner = $6)
         ), wanted as materialized (
             select event.*, wish.subscription_id,
                    (select id from deliveries where event_id = $1 and subscription_id = wish.subscription_id order by id desc limit 1)
                    as before
             from event
             join subscription_wishes as wish on wish.company_id = event.company_id and wish.audience = any(array['', event.owner])
             where case when event.addressed_to is null
                        then wish.events = '{}' or wish.events && array['*', event.name, split_part(event.name, '.', 1) || '.*']
                        else event.addressed_to = wish.subscription_id end
             and ($6::text is null or wish.owner = $6)
             and not exists (
                 select from waiting join endpoints using (subscription_id)
                 where event_id = $1 and subscription_id = wish.subscription_id and place >= coalesce(cancelled_before, 0)
             )
             and not exists (select from in_flight where event_id = $1 and subscription_id = wish.subscription_id)
             for share of wish
         ), made as (
             insert into waiting (id, company_id, subscription_id, event_id, event, sequence, replay_of, lane, due_at, created_at, updated_at)
             select ($5 || substr(gen_random_uuid()::text, 16))::uuid, company_id, subscription_id, id, name, sequence, before,
                    case when before is null then 0 else 3 end, $4, $4, $4
             from wanted where not $3
         )
         select (select coalesce(array_agg(subscription_id), '{}') from wanted) as "webhooks!" from event"#,
        event.uuid(),
        caller.company.uuid(),
        count_only,
        now,
        time,
        caller.grant.owner.as_ref().map(Owner::as_str),
    )
    .fetch_optional(conn)
    .await
}
