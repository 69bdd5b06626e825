-- The span that an event follows from, so that its fan-out and the attempts of its deliveries, on whatever instance, are part of the same trace.

alter table events add column trace bytea;
comment on column events.trace is
    'The trace (16 bytes) and the span (8 bytes) that it was published in; null if that was not recorded. It is no part of what subscribers receive.';

create or replace view event_stream as
select id, company_id, name, subject_id, sequence, body, addressed_to, transaction_id, place, owner, trace
from events;

-- Earlier versions call the function without traces, which stays until none is left.
create function publish_events(
    ids uuid[], companies uuid[], names text[], subjects uuid[], bodies bytea[], totals bigint[], later bigint[], at timestamptz,
    requests uuid[], traces bytea[]
) returns void language plpgsql as $$
begin
    -- The position in the outbox is taken after the row of the record's sequence was locked, so it grows with the sequence number. Arrays are
    -- unnested in the select list: most of the time of a small group is the start of each step of the plan.
    with new as (
        select unnest(ids) as id, unnest(companies) as company_id, unnest(names) as name, unnest(subjects) as subject_id,
               unnest(bodies) as body, unnest(totals) as total, unnest(publish_events.later) as later, generate_subscripts(ids, 1) as place,
               unnest(requests) as request_id, unnest(traces) as trace
    ), counted as (
        insert into event_sequences as sequences (company_id, subject_id, last)
        select company_id, subject_id, total from new where subject_id is not null and total is not null order by 1, 2
        on conflict (company_id, subject_id) do update set last = sequences.last + excluded.last
        returning company_id, subject_id, last
    ), numbered as (
        select new.*, counted.last - new.later as sequence from new left join counted using (company_id, subject_id) order by place
    ), event as (
        insert into events (id, company_id, name, subject_id, sequence, body, created_at, request_id, trace)
        select id, company_id, name, subject_id, sequence, body, at, request_id, trace from numbered
    )
    insert into outbox (event_id, company_id, name, subject_id, sequence)
    select id, company_id, name, subject_id, sequence from numbered;
end
$$;
comment on function publish_events(uuid[], uuid[], text[], uuid[], bytea[], bigint[], bigint[], timestamptz, uuid[], bytea[]) is
    'Inserts events of no owner, numbers those about a record, and adds them to the outbox. totals: for the first event about each record, how many there are about it; later: how many about the same record follow.';
