-- Logs attempts that were all acknowledged, and closes their deliveries.
with results as (
    select * from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::integer[], $7::smallint[],
                         $8::smallint[], $9::smallint[], $10::text[], $11::text[], $12::bytea[], $13::timestamptz[])
    as results (attempt_id, delivery_id, number, started_at, ended_at, duration_ms, bucket, status, resends,
                request_headers, response_headers, response_body, certificate_expires_at)
),
-- All endpoints are locked before anything moves.
endpoint as materialized (
    select subscription_id from endpoints where subscription_id = any($14) order by subscription_id for no key update
),
-- What has lost its lease is left alone.
landed as (
    delete from in_flight using results
    where in_flight.id = results.delivery_id and in_flight.attempts = results.number and (select count(*) from endpoint) > 0
    returning in_flight.*, results.*
),
logged as (
    insert into attempts (id, delivery_id, number, started_at, duration_ms, status, resends, request_headers, response_headers, response_body)
    select attempt_id, delivery_id, number, started_at, duration_ms, status, resends, request_headers, response_headers, response_body
    from landed
),
closed as (
    insert into deliveries (id, company_id, subscription_id, event_id, event, sequence, state, attempts, created_at, closed_at)
    select id, company_id, subscription_id, event_id, event, sequence, 'delivered', attempts, created_at, $15 from landed
),
-- In any order: the endpoints are locked.
counted_by_hour as (
    insert into attempt_hours as hours (subscription_id, hour, bucket, company_id, succeeded)
    select subscription_id, date_trunc('hour', ended_at, 'UTC') as hour, bucket, company_id, count(*) from landed group by 1, 2, 3, 4
    on conflict (subscription_id, hour, bucket) do update set succeeded = hours.succeeded + excluded.succeeded
),
of_each as (
    select subscription_id, count(*)::integer as deliveries, max(ended_at) as succeeded_at,
           min(certificate_expires_at) as certificate_expires_at
    from landed group by subscription_id
),
-- They are doing well. A silence that somebody asked for lasts until its end.
noted as (
    update endpoints
    set in_flight = endpoints.in_flight - of_each.deliveries,
        consecutive_failures = 0,
        failing_since = null,
        last_success_at = greatest(last_success_at, succeeded_at),
        certificate_expires_at = coalesce(of_each.certificate_expires_at, endpoints.certificate_expires_at),
        open_until = null,
        silent_until = case when silent_until <= $15 + $16::interval and silent_until > $15 then silent_until end,
        held_until = case when held_until is not null then $15 end
    from of_each where endpoints.subscription_id = of_each.subscription_id
)
select count(*) as "recorded!" from landed
