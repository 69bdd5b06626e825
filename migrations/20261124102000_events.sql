-- What happened, in which order, and the list of what still has to be handed to subscribers. Events are kept by day, so that a day is forgotten by
-- dropping its table.

-- The least UUIDv7 of the instant `at`: where a day begins among ids. No id is older than 1970: whatever was to be kept since before, such as for a
-- hundred years, begins with the first one.
create function uuid_v7_floor(at timestamptz) returns uuid language sql immutable parallel safe as $$
    select rpad(lpad(to_hex(greatest(0, floor(extract(epoch from at) * 1000)::bigint)), 12, '0'), 32, '0')::uuid
$$;
comment on function uuid_v7_floor is 'Ids made before this instant are less, ids made since are not.';

-- The order in which events become visible, for whoever reads along and must not miss one. Ids are made before the commit: an event with a
-- smaller id may appear after one with a greater id. A transaction's own id is a better place: once no transaction before it is open any
-- more, nothing can appear before it.
create sequence event_places cache 100;

create table events (
    id uuid not null,
    company_id uuid not null,
    name text not null,
    -- the record the event is about
    subject_id uuid,
    -- 1, 2, 3 … among the events about that record
    sequence bigint,
    -- the envelope, exactly as it is signed and sent; bytes, because jsonb would reorder them
    body bytea not null,
    created_at timestamptz not null,
    transaction_id xid8 not null default pg_current_xact_id(),
    -- among the events of its transaction
    place bigint not null default nextval('event_places'),
    -- A test event is for one subscription and no other, whoever reads along or repeats it.
    addressed_to uuid,
    constraint events_pkey primary key (id)
) partition by range (id);
create index events_of_company on events (company_id, created_at, id);
create index events_in_order on events (company_id, transaction_id, place);
-- Takes whatever no other partition is there for, so that nothing ever fails for want of one; and the few that are kept longer.
create table events_default partition of events default;
comment on table events is 'Everything that happened, written in the transaction that made it happen; never changed after that. Partitioned by day.';
comment on column events.transaction_id is 'Whoever reads along reads what is less than pg_snapshot_xmin(pg_current_snapshot()): all of that is there.';
comment on column events.addressed_to is 'The only subscription it is for: a test. Written in the transaction that publishes it.';

create table event_sequences (
    company_id uuid not null,
    subject_id uuid not null,
    last bigint not null,
    constraint event_sequences_pkey primary key (company_id, subject_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table event_sequences is
    'How many events there have been about a record. Its row is locked until the publisher commits, so events about one record are committed in their order.';

-- An entry says all that fan-out needs, so that the event itself is not read for it.
create table outbox (
    -- the order in which events are fanned out: about one record, that of their sequence
    position bigint generated always as identity,
    event_id uuid not null,
    company_id uuid not null,
    name text not null,
    subject_id uuid,
    sequence bigint,
    constraint outbox_pkey primary key (position)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
comment on table outbox is 'Events that have not been fanned out to subscriptions yet; a row leaves in the transaction that fans it out.';

-- The log in the form that every resource is read in.
create view event_log as
select id, company_id, name as event, subject_id, sequence, body, created_at, created_at as updated_at, 1::bigint as version,
       null::timestamptz as deleted_at
from events;
comment on view event_log is 'Events, which never change.';

create view event_stream as
select id, company_id, name, subject_id, sequence, body, addressed_to, transaction_id, place
from events;
comment on view event_stream is
    'Events as whoever reads along or delivers them sees them. Read in the order of transaction_id and place, as events.transaction_id says.';

-- Whoever publishes beside other work in one statement calls this in it, with its own parameters by name.

create function publish_events(
    ids uuid[], companies uuid[], names text[], subjects uuid[], bodies bytea[], totals bigint[], later bigint[], at timestamptz
) returns void language plpgsql as $$
begin
    -- The position in the outbox is taken after the row of the record's sequence was locked, so it grows with the sequence number. Arrays are
    -- unnested in the select list: most of the time of a small group is the start of each step of the plan.
    with new as (
        select unnest(ids) as id, unnest(companies) as company_id, unnest(names) as name, unnest(subjects) as subject_id,
               unnest(bodies) as body, unnest(totals) as total, unnest(publish_events.later) as later, generate_subscripts(ids, 1) as place
    ), counted as (
        insert into event_sequences as sequences (company_id, subject_id, last)
        select company_id, subject_id, total from new where subject_id is not null and total is not null order by 1, 2
        on conflict (company_id, subject_id) do update set last = sequences.last + excluded.last
        returning company_id, subject_id, last
    ), numbered as (
        select new.*, counted.last - new.later as sequence from new left join counted using (company_id, subject_id) order by place
    ), event as (
        insert into events (id, company_id, name, subject_id, sequence, body, created_at)
        select id, company_id, name, subject_id, sequence, body, at from numbered
    )
    insert into outbox (event_id, company_id, name, subject_id, sequence)
    select id, company_id, name, subject_id, sequence from numbered;
end
$$;
comment on function publish_events is
    'Inserts events, numbers those about a record, and adds them to the outbox. totals: for the first event about each record, how many there are about it; later: how many about the same record follow.';
