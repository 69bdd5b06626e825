//! The SQL of the engine: fanning out, claiming, recording.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::kernel::ids::{AttemptId, CompanyId, DeliveryId, EventId, SubscriptionId};
use crate::webhooks::claim::Claimed;
use crate::webhooks::delivery_log::LoggedAttempt;
use crate::webhooks::outcome::Fault;
use crate::webhooks::record::Columns;
use crate::webhooks::subscription::{AttemptTimeout, ExtraHeaders, SignatureFormat};
use crate::webhooks::targets::EndpointUrl;

/// Turns up to `limit` events of the outbox into deliveries; instances that do so at once take different ones. Answers the events.
pub(super) async fn fan_out(conn: &mut PgConnection, limit: u16, now: DateTime<Utc>) -> Result<u64, sqlx::Error> {
    let drained = sqlx::query_scalar!(
        r#"with drained as (
             delete from outbox
             where event_id in (select event_id from outbox order by event_id limit $1 for update skip locked)
             returning event_id
         ), fanned_out as (
             insert into deliveries (id, company_id, subscription_id, event_id, state, due_at, created_at, updated_at)
             select uuid_v7($2), events.company_id, subscriptions.id, events.id, 'pending', $2, $2, $2
             from drained
             join events on events.id = drained.event_id
             join subscriptions on subscriptions.company_id = events.company_id
             where subscriptions.status = 'enabled' and subscriptions.deleted_at is null
             and (subscriptions.events = '{}'
                  or subscriptions.events && array['*', events.name, split_part(events.name, '.', 1) || '.*'])
             -- who disables one waits, or is seen: no delivery is made that nobody calls off
             for share of subscriptions
             on conflict (event_id, subscription_id) where replay_of is null do nothing
         )
         select count(*) as "events!" from drained"#,
        i64::from(limit),
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(drained.unsigned_abs())
}

/// Takes leases on up to `limit` due deliveries, those of the endpoints with the fewest in flight first.
pub(super) async fn claim_due(
    conn: &mut PgConnection,
    limit: usize,
    endpoint_limit: u32,
    now: DateTime<Utc>,
) -> Result<Vec<Claimed>, sqlx::Error> {
    sqlx::query_as!(
        Claimed,
        r#"with candidates as (
             select waiting.id, waiting.due_at,
                    flying.deliveries + row_number() over (partition by subscriptions.id order by waiting.due_at) as turn
             from subscriptions
             cross join lateral (
                 select count(*) as deliveries from deliveries where subscription_id = subscriptions.id and claimed_at is not null
             ) as flying
             cross join lateral (
                 select id, due_at from deliveries where subscription_id = subscriptions.id and due_at <= $3
                 order by due_at limit least(greatest($2 - flying.deliveries, 0), $1)
                 for update skip locked
             ) as waiting
             where subscriptions.status = 'enabled' and subscriptions.deleted_at is null
         ), chosen as (
             select id from candidates order by turn, due_at limit $1
         ), claimed as (
             update deliveries set claimed_at = $3, due_at = null, attempts = attempts + 1, updated_at = $3
             from chosen where deliveries.id = chosen.id
             returning deliveries.id, deliveries.company_id, subscription_id, event_id, attempts, failures
         )
         select claimed.id as "delivery: DeliveryId", claimed.company_id as "company: CompanyId",
                claimed.subscription_id as "subscription: SubscriptionId", claimed.event_id as "event: EventId",
                claimed.attempts as number, claimed.failures,
                events.name as event_name, events.body, subscriptions.url as "url: EndpointUrl",
                subscriptions.headers as "headers: Json<ExtraHeaders>", subscriptions.signature_format as "signature_format: SignatureFormat",
                subscriptions.timeout as "timeout: AttemptTimeout", subscriptions.sealed_secret,
                case when subscriptions.previous_secret_until > $3 then subscriptions.sealed_previous_secret end as sealed_previous_secret
         from claimed
         join subscriptions on subscriptions.id = claimed.subscription_id
         join events on events.id = claimed.event_id"#,
        i64::try_from(limit).unwrap_or(i64::MAX),
        i64::from(endpoint_limit),
        now,
    )
    .fetch_all(conn)
    .await
}

/// Ends the leases taken before `expired_before`: the attempt is logged as interrupted, its delivery due again unless `interruptions`
/// attempts were lost. Answers how many there were.
pub(super) async fn release_expired(
    conn: &mut PgConnection,
    expired_before: DateTime<Utc>,
    interruptions: i16,
    now: DateTime<Utc>,
) -> Result<u64, sqlx::Error> {
    let released = sqlx::query!(
        "with lost as (
             select id, attempts, claimed_at, state in ('pending', 'retrying') and attempts - failures < $2 as again
             from deliveries where claimed_at <= $1 for update skip locked
         ), logged as (
             insert into attempts (id, delivery_id, number, started_at, error, request_headers)
             select uuid_v7($3), id, attempts, claimed_at, $4, '{}' from lost
         )
         update deliveries
         set state = case when again then 'retrying' when state = 'cancelled' then state else 'failed' end,
             due_at = case when again then $3::timestamptz end, claimed_at = null, updated_at = $3
         from lost where deliveries.id = lost.id",
        expired_before,
        interruptions,
        now,
        Fault::Interrupted.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(released.rows_affected())
}

/// Logs attempts and moves their deliveries on, where the lease still holds; answers for how many it did. A delivery that was called off
/// in flight stays so, unless it arrived.
pub(super) async fn record_attempts(conn: &mut PgConnection, columns: &Columns, now: DateTime<Utc>) -> Result<u64, sqlx::Error> {
    let recorded = sqlx::query!(
        "with results as (
             select * from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::integer[], $6::smallint[], $7::text[],
                                  $8::jsonb[], $9::jsonb[], $10::bytea[], $11::text[], $12::smallint[], $13::timestamptz[])
             as results (attempt_id, delivery_id, number, started_at, duration_ms, status, error,
                         request_headers, response_headers, response_body, state, failures, due_at)
         ), held as (
             -- locked in the order of their ids, as calling off does: nobody waits in a circle
             select id from deliveries join results on results.delivery_id = id and results.number = attempts
             where claimed_at is not null order by id for update of deliveries
         ), moved as (
             update deliveries
             set state = case when deliveries.state = 'cancelled' and results.state <> 'delivered' then 'cancelled' else results.state end,
                 due_at = case when deliveries.state <> 'cancelled' then results.due_at end,
                 failures = results.failures, claimed_at = null, updated_at = $14
             from results join held on held.id = results.delivery_id
             where deliveries.id = held.id
             returning deliveries.id
         )
         insert into attempts (id, delivery_id, number, started_at, duration_ms, status, error,
                               request_headers, response_headers, response_body)
         select attempt_id, delivery_id, number, started_at, duration_ms, status, error, request_headers, response_headers, response_body
         from results join moved on moved.id = results.delivery_id",
        &columns.ids,
        &columns.deliveries,
        &columns.numbers,
        &columns.started_at,
        &columns.durations_ms,
        &columns.statuses as &[Option<i16>],
        &columns.faults as &[Option<String>],
        &columns.request_headers,
        &columns.response_headers as &[Option<serde_json::Value>],
        &columns.response_bodies as &[Option<Vec<u8>>],
        &columns.states as &[&str],
        &columns.failures,
        &columns.due_at as &[Option<DateTime<Utc>>],
        now,
    )
    .execute(conn)
    .await?;
    Ok(recorded.rows_affected())
}

/// The bytes of an event.
pub(super) async fn find_body(conn: &mut PgConnection, event: EventId) -> Result<Vec<u8>, sqlx::Error> {
    sqlx::query_scalar!("select body from events where id = $1", event.uuid()).fetch_one(conn).await
}

/// The attempts of a delivery, in their order.
pub(super) async fn list_attempts(conn: &mut PgConnection, delivery: DeliveryId) -> Result<Vec<LoggedAttempt>, sqlx::Error> {
    sqlx::query_as!(
        LoggedAttempt,
        r#"select id as "id: AttemptId", number, started_at, duration_ms, status, error, request_headers, response_headers, response_body
           from attempts where delivery_id = $1 order by number"#,
        delivery.uuid(),
    )
    .fetch_all(conn)
    .await
}
