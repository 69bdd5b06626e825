-- Turns events of the outbox into deliveries, in flight or waiting.
with recursive
-- From company to company through the index, from the one behind $1 on, at most once around.
-- `offset 0` keeps PostgreSQL from looking up twice.
turn as (
    select first.company_id, first.company_id as seed, 1 as step, (first.company_id <> all($13::uuid[]))::integer as place
    from (select coalesce(
        (select company_id from outbox where company_id > $1 order by company_id limit 1),
        (select company_id from outbox order by company_id limit 1)
    ) as company_id offset 0) as first
    where $14 and first.company_id is not null
    union all
    select next.company_id, turn.seed, turn.step + 1, turn.place + (next.company_id <> all($13::uuid[]))::integer
    from turn
    cross join lateral (select coalesce(
        (select company_id from outbox where company_id > turn.company_id order by company_id limit 1),
        (select company_id from outbox order by company_id limit 1)
    ) as company_id offset 0) as next
    where turn.place < $7 and next.company_id <> turn.seed
),
-- The companies to fan out for: all but $13, or those alone.
asked as materialized (
    select company_id from turn where company_id <> all($13::uuid[])
    union all
    select company_id from unnest($13::uuid[]) as company_id where not $14
),
-- Those whose turn this statement has: it has the first entry of each locked.
taken as materialized (
    select company_id from asked
    cross join lateral (
        select from outbox
        where position = (select position from outbox as entry where entry.company_id = asked.company_id order by position limit 1)
        for update skip locked
    ) as first
    where asked.company_id not in (select company_id from moving_companies where not arrived)
),
-- The share of each in the deliveries, and how many events to compare with its webhooks.
company as materialized (
    select company_id, share, $8 / greatest($8 / $9, webhooks)::integer as events
    from taken
    cross join (select $6 / greatest(1, count(*))::integer as share from taken) as of_each
    cross join lateral (
        select count(*) as webhooks from (
            select from subscription_wishes as wish where wish.company_id = taken.company_id and audience = '' limit $8
        ) as first
    ) as size
),
-- Its oldest events. There may be more if as many as asked for are found.
event as materialized (
    select head.*, share, count(*) over (partition by company.company_id) = events as cut
    from company
    cross join lateral (
        select position, event_id, company_id, name, subject_id, sequence, owner, reached from outbox
        where outbox.company_id = company.company_id order by position limit events
        -- What another instance has taken since this statement began is passed over, or is seen as it left it.
        for update
    ) as head
),
-- Its next deliveries, read without locks. A slice that is full may end within an event.
slice as materialized (
    select wanted.*, row_number() over (partition by wanted.company_id order by position desc, subscription_id desc) as from_end,
           count(*) over (partition by wanted.company_id) = company.share as is_full
    from company
    cross join lateral (
        select event.*, addressed.audience, wish.*
        from event
        cross join lateral unnest(array['', event.owner]) as addressed (audience)
        cross join lateral (
            select subscription_id from subscription_wishes as wish
            where wish.company_id = event.company_id and wish.audience = addressed.audience and wish.subscription_id > event.reached
            and (wish.events = '{}' or wish.events && array['*', event.name, split_part(event.name, '.', 1) || '.*'])
            order by wish.subscription_id limit company.share
        ) as wish
        where event.company_id = company.company_id
        order by event.position, wish.subscription_id limit company.share
    ) as wanted
),
-- Where each full slice ends.
last as (
    select company_id, position, subscription_id from slice where from_end = 1 and is_full
),
-- An event that is fanned out in part notes the webhook up to which it is.
advanced as (
    update outbox set reached = last.subscription_id from last where outbox.position = last.position
),
-- What is fanned out leaves the outbox,
drained as (
    delete from outbox where position = any(array(
        select event.position from event left join last using (company_id)
        where event.position < coalesce(last.position, event.position + 1)
    ))
    returning position, company_id, event_id
),
-- gets the next numbers of the feed of its company
head as (
    insert into feed_heads as heads (company_id, last)
    select company_id, count(*) from drained group by company_id order by company_id
    on conflict (company_id) do update set last = heads.last + excluded.last
    returning company_id, last
),
-- for those who read along,
numbered as (
    insert into feed (company_id, number, event_id)
    select company_id, last + 1 - row_number() over (partition by company_id order by position desc), event_id
    from drained join head using (company_id)
),
-- and is counted.
counted_by_hour as (
    insert into event_hours as hours (company_id, hour, events)
    select company_id, date_trunc('hour', $2::timestamptz, 'UTC'), count(*) from drained group by company_id order by company_id
    on conflict (company_id, hour) do update set events = hours.events + excluded.events
),
-- The deliveries with an id, and their webhooks read again under locks. The condition names all columns of the index by audience:
-- by its last one alone, an old plan reads the whole index for each delivery.
wanted as materialized (
    select ($3 || substr(gen_random_uuid()::text, 16))::uuid as id, slice.*, wish.version, wish.rate_limit, in_order,
           case when in_order then uuid_hash_extended(slice.subject_id, 0) end as chain
    from slice
    cross join lateral (
        select version, rate_limit, ordering = 'resource' as in_order from subscription_wishes as wish
        -- Who disables one waits, or is seen: no delivery is made that nobody cancels.
        where wish.company_id = slice.company_id and wish.audience = slice.audience and wish.subscription_id = slice.subscription_id
        for share of wish
    ) as wish
),
-- Those that might fly: neither ordered nor paced, and within the rooms of their companies; of each company the webhooks take turns.
candidate as materialized (
    select id, subscription_id, position
    from (
        select *, row_number() over (partition by company_id order by turn, position) as turn_of_company
        from (
            select wanted.*, row_number() over (partition by subscription_id order by position) as turn
            from wanted where not in_order and rate_limit is null
        ) as ranked
    ) as ranked
    left join unnest($10::uuid[], $11::integer[]) as holder (company_id, room) using (company_id)
    where turn_of_company <= coalesce(holder.room, $12)
    order by turn_of_company, position limit $4
),
-- The endpoints of candidates and of ordered deliveries, locked in order, with the room that each has in flight:
-- none if something waits for it, its circuit is open, it has asked for silence, or it is paused.
endpoint as materialized (
    select concerned.subscription_id, ids, room
    from (
        select subscription_id, array_agg(id order by position) filter (where not in_order) as ids
        from (
            select id, subscription_id, position, false as in_order from candidate
            union all
            select id, subscription_id, position, true from wanted where in_order
        ) as each
        group by subscription_id order by subscription_id
    ) as concerned
    cross join lateral (
        select case when open_until is null and silent_until is null and held_until is null and not paused
                    and (select true from waiting where lane = 0 and waiting.subscription_id = endpoints.subscription_id
                         order by due_at limit 1) is null
               then greatest(0, $5::integer - in_flight) else 0 end as room
        from endpoints where endpoints.subscription_id = concerned.subscription_id for no key update
    ) as found
),
-- Which of the deliveries fly.
settled as materialized (
    select wanted.*, id in (select unnest(ids[:room]) from endpoint) as flies from wanted
),
-- They are in flight,
flown as (
    insert into in_flight (id, company_id, subscription_id, event_id, event, sequence, attempts, failures, worker, claimed_at,
                           created_at)
    select id, company_id, subscription_id, event_id, name, sequence, 1, 0, $15, $2, $2 from settled where flies
),
-- and the others wait: in the lane of first attempts, or behind their predecessor.
queued as (
    insert into waiting (id, company_id, subscription_id, event_id, event, sequence, chain, lane, due_at, created_at, updated_at)
    select id, company_id, subscription_id, event_id, name, sequence, chain, case when chain is null then 0 else 2 end, $2, $2, $2
    from settled where not flies
    returning id
),
-- The endpoints count what flies.
counted as (
    update endpoints set in_flight = endpoints.in_flight + least(endpoint.room, cardinality(endpoint.ids))
    from endpoint
    where endpoints.subscription_id = any(array(select subscription_id from endpoint where room > 0 and ids is not null))
    and endpoint.subscription_id = endpoints.subscription_id
)
select summary.events as "events!", summary.queued as "queued!", summary.more as "more!", summary.passed_over as "passed_over!",
       summary.last as "last?: CompanyId",
       case when row_number() over () = 1 then summary.unfinished end as "unfinished?: Vec<CompanyId>",
       case when row_number() over () = 1 then summary.waiting end as "waiting?: Vec<SubscriptionId>",
       case when row_number() over () = 1 then summary.drained end as "drained?: Vec<EventId>",
       flying.id as "delivery?: DeliveryId", flying.company_id as "company?: CompanyId",
       flying.subscription_id as "subscription?: SubscriptionId", flying.event_id as "event?: EventId", flying.name as "event_name?",
       flying.sequence as "sequence?", flying.version as "version?",
       case when row_number() over (partition by flying.event_id) = 1
       then (select body from event_stream where id = flying.event_id and id >= $16) end as "body?"
from (
    select (select count(*) from drained) as events, exists (select from queued) as queued,
           coalesce((select max(place) from turn) = $7, false) as more,
           (select count(*) from asked) > (select count(*) from taken) as passed_over,
           (select company_id from turn order by step desc limit 1) as last,
           array(select company_id from last union select company_id from event where cut) as unfinished,
           array(
               select distinct subscription_id from settled where $14 and not (flies or is_full or cut) and chain is null
           ) as waiting,
           array(select event_id from drained where $17) as drained
) as summary
left join settled as flying on flies
