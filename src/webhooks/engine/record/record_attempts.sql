-- Logs attempts and moves their deliveries to the next state.
with results as (
    select * from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::integer[], $7::smallint[],
                         $8::smallint[], $9::text[], $10::text[], $11::smallint[], $12::text[], $13::text[], $14::bytea[], $15::text[],
                         $16::timestamptz[], $17::timestamptz[], $18::timestamptz[])
    as results (attempt_id, delivery_id, number, started_at, ended_at, duration_ms, bucket, status, error, reason, resends,
                request_headers, response_headers, response_body, state, due_at, certificate_expires_at, asks_for_silence_until)
),
-- All endpoints are locked before anything moves.
endpoint as materialized (
    select subscription_id, in_flight, open_until, silent_until, cancelled_before, paused from endpoints
    where subscription_id = any($19) order by subscription_id for no key update
),
-- What has lost its lease is left alone. What was cancelled in flight has no retry.
landed as (
    delete from in_flight using results
    where in_flight.id = results.delivery_id and in_flight.attempts = results.number and (select count(*) from endpoint) > 0
    returning in_flight.*, results.*,
              case when results.state = 'retrying' and in_flight.cancelled then 'cancelled' else results.state end as next
),
logged as (
    insert into attempts (id, delivery_id, number, started_at, duration_ms, status, error, reason, resends,
                          request_headers, response_headers, response_body)
    select attempt_id, delivery_id, number, started_at, duration_ms, status, error, reason, resends,
           request_headers, response_headers, response_body
    from landed
),
repeated as (
    insert into waiting (id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, lane, due_at, attempts,
                         failures, created_at, updated_at)
    select id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, case when replay_of is null then 1 else 3 end,
           due_at, attempts, failures + 1, created_at, $20
    from landed where next = 'retrying'
),
closed as (
    insert into deliveries (id, company_id, subscription_id, event_id, event, sequence, replay_of, state, attempts, created_at, closed_at)
    select id, company_id, subscription_id, event_id, event, sequence, replay_of,
           case when next = 'failed' and cancelled then 'cancelled' else next end, attempts, created_at, $20
    from landed where next <> 'retrying'
),
counted_by_hour as (
    insert into attempt_hours as hours (subscription_id, hour, bucket, company_id, succeeded, failed)
    select subscription_id, date_trunc('hour', ended_at, 'UTC') as hour, bucket, company_id,
           count(*) filter (where state = 'delivered'), count(*) filter (where state <> 'delivered')
    from landed where replay_of is null group by 1, 2, 3, 4 order by 1, 2, 3
    on conflict (subscription_id, hour, bucket) do update
    set succeeded = hours.succeeded + excluded.succeeded, failed = hours.failed + excluded.failed
),
of_each as (
    select subscription_id, count(*)::integer as deliveries,
           max(ended_at) filter (where state = 'delivered' and replay_of is null) as succeeded_at,
           max(ended_at) filter (where state <> 'delivered' and replay_of is null) as failed_at,
           min(certificate_expires_at) as certificate_expires_at, max(asks_for_silence_until) as asks_for_silence_until,
           (array_agg(coalesce(status::text, concat_ws(' ', error, reason)) order by ended_at desc)
            filter (where state <> 'delivered' and replay_of is null))[1] as failure
    from landed group by subscription_id
),
-- The failures since the last success.
failed as (
    select subscription_id, count(*)::integer as failures, min(ended_at) as first_at
    from landed join of_each using (subscription_id)
    where state <> 'delivered' and replay_of is null and ended_at > coalesce(succeeded_at, '-infinity')
    group by subscription_id
),
-- The endpoints that go on at once, and how many deliveries each of them may have more.
refill as (
    select subscription_id, settings.version, due_from,
           greatest(0, least(most, wanted.in_flight - endpoint.in_flight + of_each.deliveries)) as room
    from unnest($24::uuid[], $25::timestamptz[], $26::integer[], $27::integer[]) as wanted (subscription_id, due_from, most, in_flight)
    join of_each using (subscription_id)
    join endpoint using (subscription_id)
    join subscription_endpoints as settings using (subscription_id)
    where failed_at is null and open_until is null and silent_until is null and asks_for_silence_until is null
    and cancelled_before is null and not paused and rate_limit is null
),
taken as (
    delete from waiting where id = any(array(
        select due.id from refill
        cross join lateral (
            select id from waiting
            where lane = 0 and waiting.subscription_id = refill.subscription_id and due_at >= refill.due_from
            order by due_at limit refill.room
        ) as due
    ))
    returning id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts, failures, created_at, due_at
),
flown as (
    insert into in_flight (id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts, failures,
                           worker, claimed_at, created_at)
    select id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts + 1, failures, $28, $20, created_at
    from taken
),
refilled as (
    select subscription_id, count(*)::integer as deliveries from taken group by subscription_id
),
-- How each endpoint is doing, and how many deliveries it has in flight.
noted as (
    update endpoints
    set in_flight = endpoints.in_flight - of_each.deliveries + coalesce(refilled.deliveries, 0),
        consecutive_failures = coalesce(failures, 0) + case when succeeded_at is null then consecutive_failures else 0 end,
        failing_since = case when succeeded_at is null then coalesce(failing_since, first_at) else first_at end,
        last_success_at = greatest(last_success_at, succeeded_at),
        last_failure_at = greatest(last_failure_at, failed_at),
        last_failure = coalesce(failure, last_failure),
        certificate_expires_at = coalesce(of_each.certificate_expires_at, endpoints.certificate_expires_at),
        open_until = case when succeeded_at is null and failed_at is null then open_until
                          when coalesce(failures, 0) + case when succeeded_at is null then consecutive_failures else 0 end >= $21
                          then $20 + $22::interval end,
        silent_until = greatest(
            asks_for_silence_until,
            case when silent_until <= $20 + $23::interval and (silent_until > $20 or succeeded_at is null) then silent_until end
        ),
        held_until = case when held_until is null or (succeeded_at is null and failed_at is null) then held_until
                          when coalesce(failures, 0) + case when succeeded_at is null then consecutive_failures else 0 end >= $21
                          then $20 + $22::interval
                          else $20 end
    from of_each left join failed using (subscription_id) left join refilled using (subscription_id)
    where endpoints.subscription_id = of_each.subscription_id
)
select summary.recorded as "recorded!", taken.due_at as "due_at?",
       taken.id as "delivery?: DeliveryId", taken.company_id as "company?: CompanyId",
       taken.subscription_id as "subscription?: SubscriptionId", taken.event_id as "event?: EventId", taken.event as "event_name?",
       taken.sequence as "sequence?", taken.attempts + 1::smallint as "number?", taken.failures as "failures?",
       taken.chain is not null as "in_order?", refill.version as "version?",
       case when row_number() over (partition by taken.event_id) = 1
       then (select body from event_stream where id = taken.event_id and id >= $29) end as "body?"
from (select count(*) as recorded from landed) as summary
left join (taken join refill using (subscription_id)) on true
