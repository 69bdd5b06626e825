-- The request that an event follows from, so that whoever has its id finds what became of it.

alter table events add column request_id uuid;
comment on column events.request_id is
    'The X-Request-Id of the request that published it; null for what the service and the command line publish, and for what customers do in apps.';
-- Ids of requests are UUIDv7, so new entries stand at the end of their company's.
create index events_of_request on events (company_id, request_id, created_at, id) where request_id is not null;

create or replace view event_log as
select id, company_id, name as event, subject_id, sequence, body, created_at, created_at as updated_at, 1::bigint as version,
       null::timestamptz as deleted_at, owner, request_id
from events;

drop function publish_events(uuid[], uuid[], text[], uuid[], bytea[], bigint[], bigint[], timestamptz);

create function publish_events(
    ids uuid[], companies uuid[], names text[], subjects uuid[], bodies bytea[], totals bigint[], later bigint[], at timestamptz,
    requests uuid[]
) returns void language plpgsql as $$
begin
    -- The position in the outbox is taken after the row of the record's sequence was locked, so it grows with the sequence number. Arrays are
    -- unnested in the select list: most of the time of a small group is the start of each step of the plan.
    with new as (
        select unnest(ids) as id, unnest(companies) as company_id, unnest(names) as name, unnest(subjects) as subject_id,
               unnest(bodies) as body, unnest(totals) as total, unnest(publish_events.later) as later, generate_subscripts(ids, 1) as place,
               unnest(requests) as request_id
    ), counted as (
        insert into event_sequences as sequences (company_id, subject_id, last)
        select company_id, subject_id, total from new where subject_id is not null and total is not null order by 1, 2
        on conflict (company_id, subject_id) do update set last = sequences.last + excluded.last
        returning company_id, subject_id, last
    ), numbered as (
        select new.*, counted.last - new.later as sequence from new left join counted using (company_id, subject_id) order by place
    ), event as (
        insert into events (id, company_id, name, subject_id, sequence, body, created_at, request_id)
        select id, company_id, name, subject_id, sequence, body, at, request_id from numbered
    )
    insert into outbox (event_id, company_id, name, subject_id, sequence)
    select id, company_id, name, subject_id, sequence from numbered;
end
$$;
comment on function publish_events is
    'Inserts events of no owner, numbers those about a record, and adds them to the outbox. totals: for the first event about each record, how many there are about it; later: how many about the same record follow.';
