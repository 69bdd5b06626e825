-- Events by day, so that a day is forgotten by dropping its table; and the place of each event among those of its resource.

-- The least UUIDv7 of the instant `at`: where a day begins among ids.
create function uuid_v7_floor(at timestamptz) returns uuid language sql immutable parallel safe as $$
    select rpad(lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;
comment on function uuid_v7_floor is 'Ids made before this instant are less, ids made since are not.';

drop view event_log;
drop view delivery_log;
alter table deliveries drop constraint deliveries_event_id_fkey;
alter table events rename to events_in_one;
alter table events_in_one rename constraint events_pkey to events_in_one_pkey;
alter index events_of_company rename to events_in_one_of_company;

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
    constraint events_pkey primary key (id)
) partition by range (id);
create index events_of_company on events (company_id, created_at, id);
-- Takes whatever no other partition is there for, so that nothing ever fails for want of one; and the few that are kept longer.
create table events_default partition of events default;
comment on table events is 'Everything that happened, written in the transaction that made it happen; never updated. Partitioned by day.';
insert into events (id, company_id, name, subject_id, body, created_at)
select id, company_id, name, subject_id, body, created_at from events_in_one;

create table event_sequences (
    company_id uuid not null,
    subject_id uuid not null,
    last bigint not null,
    constraint event_sequences_pkey primary key (company_id, subject_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table event_sequences is
    'How many events there have been about a record. Its row is locked until the publisher commits, so events about one record are committed in their order.';

-- An entry says all that fan-out needs, so that the event itself is not read for it.
alter table outbox rename to outbox_before;
alter table outbox_before rename constraint outbox_pkey to outbox_before_pkey;
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
insert into outbox (event_id, company_id, name, subject_id)
select events.id, events.company_id, events.name, events.subject_id from outbox_before join events on events.id = outbox_before.event_id
order by events.id;
drop table outbox_before;
drop table events_in_one;

create view event_log as
select id, company_id, name as event, subject_id, sequence, body, created_at, created_at as updated_at, 1::bigint as version,
       null::timestamptz as deleted_at
from events;
comment on view event_log is 'Events, which never change.';
