with head as materialized (
    -- The turn of the company: nothing of it is in the outbox, it is not on its way to another cell, and nobody else numbers or counts its events now.
    select heads.last from feed_heads as heads
    join event_hours as hours on hours.company_id = heads.company_id and hours.hour = date_trunc('hour', $5::timestamptz, 'UTC')
    where heads.company_id = $1
    and not exists (select from outbox where outbox.company_id = $1)
    and not exists (select from moving_companies where moving_companies.company_id = $1 and not arrived)
    for no key update skip locked
), wish as materialized (
    -- The webhooks that want the event, up to one more than there are ids of deliveries. Those that somebody is changing are missing.
    select subscription_id, version, rate_limit is null and ordering = 'none' as plain
    from head
    cross join lateral (
        select subscription_id, version, rate_limit, ordering from subscription_wishes as wish
        where wish.company_id = $1 and wish.audience = any(array['', $7::text])
        and (wish.events = '{}' or wish.events && array['*', $3::text, split_part($3::text, '.', 1) || '.*'])
        limit cardinality($9::uuid[]) + 1
        for share of wish skip locked
    ) as wanted
), endpoint as materialized (
    -- Those of their endpoints that can take a delivery at once. Those whose deliveries somebody else is moving are missing.
    select subscription_id from endpoints
    where subscription_id = any(array(select subscription_id from wish))
    and in_flight < $10 and open_until is null and silent_until is null and held_until is null and not paused
    and (select true from waiting where lane = 0 and waiting.subscription_id = endpoints.subscription_id order by due_at limit 1) is null
    for no key update skip locked
), decision as materialized (
    -- All deliveries fly, or the event waits in the outbox. As many webhooks want it as are found without a lock: none is left out.
    select exists (select from head) and (
        select count(*) <= cardinality($9::uuid[]) and coalesce(bool_and(plain), true)
               and count(*) = (select count(*) from endpoint)
               and count(*) = (
                   select count(*) from (
                       select from subscription_wishes as wish
                       where wish.company_id = $1 and wish.audience = any(array['', $7::text])
                       and (wish.events = '{}' or wish.events && array['*', $3::text, split_part($3::text, '.', 1) || '.*'])
                       limit cardinality($9::uuid[]) + 1
                   ) as unlocked
               )
        from wish
    ) as flies
), event as (
    -- The event itself, whatever becomes of it.
    insert into events (id, company_id, name, body, created_at, request_id, owner)
    select $2::uuid, $1, $3::text, $4::bytea, $5::timestamptz, $6::uuid, $7::text where must_not_be_late($8)
), entry as (
    -- It waits in the outbox.
    insert into outbox (event_id, company_id, name, owner)
    select $2::uuid, $1, $3::text, $7::text where not (select flies from decision)
), numbered as (
    -- Or it has the next number in the feed, and the place in the outbox that it does not take, by which published events are counted.
    insert into feed (company_id, number, event_id)
    select $1, last + 1, $2::uuid from head where (select flies from decision) and nextval('outbox_position_seq') > 0
), advanced as (
    update feed_heads set last = last + 1 where company_id = $1 and (select flies from decision)
), counted_by_hour as (
    update event_hours set events = events + 1
    where company_id = $1 and hour = date_trunc('hour', $5::timestamptz, 'UTC') and (select flies from decision)
), made as materialized (
    -- A delivery for each webhook.
    select ($9::uuid[])[(row_number() over ())::integer] as id, subscription_id, version from wish where (select flies from decision)
), counted as (
    update endpoints set in_flight = in_flight + 1 where subscription_id = any(array(select subscription_id from made))
), flown as (
    insert into in_flight (id, company_id, subscription_id, event_id, event, attempts, failures, worker, claimed_at, created_at)
    select id, $1, subscription_id, $2::uuid, $3::text, 1, 0, $11::uuid, $5::timestamptz, $5::timestamptz from made
)
select decision.flies as "flies!", made.id as "delivery?: DeliveryId", made.subscription_id as "subscription?: SubscriptionId",
       made.version as "version?"
from decision left join made on true
