-- Takes due deliveries of one lane into flight.
with recursive
-- From endpoint to endpoint through the index, from the one before $2 on, at most once around. Backwards, because the newest entry of an
-- endpoint is usually alive, while thousands of claimed ones may lie at its beginning until the next vacuum. `offset 0` keeps PostgreSQL from
-- looking up twice.
visited as (
    select first.subscription_id, first.subscription_id as seed, 1 as place
    from (select coalesce(
        (select subscription_id from waiting where lane = $1 and subscription_id < $2 order by subscription_id desc limit 1),
        (select subscription_id from waiting where lane = $1 order by subscription_id desc limit 1)
    ) as subscription_id offset 0) as first
    where first.subscription_id is not null and $14::uuid[] = '{}'
    union all
    select next.subscription_id, visited.seed, visited.place + 1
    from visited
    cross join lateral (select coalesce(
        (select subscription_id from waiting where lane = $1 and subscription_id < visited.subscription_id
         order by subscription_id desc limit 1),
        (select subscription_id from waiting where lane = $1 order by subscription_id desc limit 1)
    ) as subscription_id offset 0) as next
    where visited.place < $3 and next.subscription_id <> visited.seed
),
-- The endpoints, locked in order, so that nobody else uses the room that is found. An instant further in the future than is possible was
-- written before the clock was set back and is ignored.
locked as materialized (
    select examined.subscription_id, found.*
    from (
        select subscription_id from visited union all select unnest($14::uuid[]) as subscription_id order by subscription_id
    ) as examined
    cross join lateral (
        select settings.company_id, endpoints.in_flight, settings.version, settings.rate_limit, ceil(settings.rate_limit / 10.0) as burst,
               case when endpoints.next_arrival_at between $7 and $7 + interval '2 seconds' then endpoints.next_arrival_at else $7 end
               as arrival_at,
               greatest(
                   case when $1 <> 3 and endpoints.open_until <= $7 + $6::interval then endpoints.open_until end,
                   case when endpoints.silent_until <= $7 + $15::interval and ($1 <> 3 or endpoints.silent_until > $7)
                   then endpoints.silent_until end
               ) as open_until
        from endpoints join subscription_endpoints as settings on settings.subscription_id = endpoints.subscription_id
        where endpoints.subscription_id = examined.subscription_id and endpoints.cancelled_before is null and not endpoints.paused
        for no key update of endpoints
    ) as found
),
-- The room of each, and when it can be claimed from again if it has none: behind an open circuit or a silence none, afterwards one on trial,
-- for which replays in flight do not count; otherwise what is left of its share and of its rate limit.
endpoint as materialized (
    select company_id, subscription_id, in_flight, version, rate_limit, arrival_at, coalesce(open_until > $7, false) as is_open,
           greatest(0, case when open_until > $7 then 0
                            when open_until <= $7 then least(1 - in_flight + replays.flying, $5::integer - in_flight, rate.allows)
                            else least($5::integer - in_flight, rate.allows) end) as room,
           case when open_until > $7 then open_until
                when rate.allows = 0 then arrival_at + (1 - burst) * (interval '1 second' / rate_limit) end as resumes_at
    from locked
    cross join lateral (
        select coalesce(floor(burst - extract(epoch from arrival_at - $7) * rate_limit)::integer, $5) as allows
    ) as rate
    cross join lateral (
        select count(*)::integer as flying from in_flight as replay
        where open_until <= $7 and replay.subscription_id = locked.subscription_id and replay_of is not null
    ) as replays
),
-- What is due, and for each delivery its turn at its endpoint. What waits for its first attempt is due whatever the clock says.
ready as (
    select company_id, due.id, due.due_at,
           endpoint.in_flight + row_number() over (partition by endpoint.subscription_id order by due.due_at) as turn
    from endpoint
    cross join lateral (
        select id, due_at from waiting
        where lane = $1 and subscription_id = endpoint.subscription_id
        and due_at <= case when $1 = 0 then 'infinity' else $7 end
        order by due_at limit least(endpoint.room, $4 + 1)
    ) as due
),
-- Within the room of each company, the endpoints with the fewest in flight first.
candidates as (
    select id, due_at, turn_of_company
    from (select ready.*, row_number() over (partition by company_id order by turn, due_at) as turn_of_company from ready) as ranked
    left join unnest($8::uuid[], $9::integer[]) as holder (company_id, room) using (company_id)
    where turn_of_company <= coalesce(holder.room, $10)
),
-- The companies take turns.
chosen as (
    select id from candidates order by turn_of_company, due_at limit $4
),
-- They leave the queue
taken as (
    delete from waiting where id = any(array(select id from chosen))
    returning id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts, failures, created_at
),
-- and are in flight, with one attempt more.
flown as (
    insert into in_flight (id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts, failures,
                           worker, claimed_at, created_at)
    select id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts + 1, failures, $12, $7, created_at
    from taken
    returning id, company_id, subscription_id, event_id, event, sequence, chain, replay_of, attempts, failures
),
-- Some of what waits behind an open circuit or a silence leaves the lane,
held as (
    update waiting set lane = 4 where id = any(array(
        select behind.id from endpoint
        cross join lateral (
            select id from waiting where lane = $1 and waiting.subscription_id = endpoint.subscription_id order by due_at limit $11
        ) as behind
        where is_open and $1 <> 3 limit $11
    ))
    returning subscription_id
),
-- and the endpoint notes until when.
noted as (
    update endpoints set held_until = endpoint.resumes_at from endpoint
    where endpoints.subscription_id = any(array(select distinct subscription_id from held))
    and endpoint.subscription_id = endpoints.subscription_id
),
-- How many fly to each endpoint.
of_each as (
    select subscription_id, count(*)::integer as deliveries from flown group by subscription_id
),
-- The endpoints count them, and their rate limits move on.
counted as (
    update endpoints
    set in_flight = endpoints.in_flight + of_each.deliveries,
        next_arrival_at = endpoint.arrival_at + of_each.deliveries * (interval '1 second' / endpoint.rate_limit)
    from of_each join endpoint using (subscription_id)
    where endpoints.subscription_id = of_each.subscription_id
)
select summary.last as "last?: SubscriptionId", summary.more as "more!", summary.unseen as "unseen!", summary.missed as "missed!",
       summary.cut as "cut!", summary.held as "held!",
       summary.resumes_at as "resumes_at?",
       case when row_number() over () = 1 then summary.crowded end as "crowded?: Vec<SubscriptionId>",
       flown.id as "delivery?: DeliveryId", flown.company_id as "company?: CompanyId",
       flown.subscription_id as "subscription?: SubscriptionId", flown.event_id as "event?: EventId", flown.event as "event_name?",
       flown.sequence as "sequence?", flown.attempts as "number?", flown.failures as "failures?", flown.chain is not null as "in_order?",
       flown.replay_of is not null as "is_replay?", endpoint.version as "version?",
       case when row_number() over (partition by flown.event_id) = 1
       then (select body from event_stream where id = flown.event_id and id >= $13) end as "body?"
from (
    select (select subscription_id from visited order by place desc limit 1) as last,
           (select count(*) from visited) >= $3 as unseen,
           (select count(*) from candidates) > (select count(*) from chosen) as more,
           (select count(*) from ready) > (select count(*) from candidates) as cut, exists (select from held) as held,
           array(
               select subscription_id from endpoint left join of_each using (subscription_id)
               where coalesce(of_each.deliveries, 0) >= endpoint.room and not is_open
               and ($1 = 0 or exists (
                   select from waiting where lane = $1 and subscription_id = endpoint.subscription_id and due_at <= $7
               ))
           ) as crowded,
           (select count(*) from chosen) > (select count(*) from flown) as missed,
           (select min(resumes_at) from endpoint where room = 0) as resumes_at
) as summary
left join (flown join endpoint on endpoint.subscription_id = flown.subscription_id) on true
