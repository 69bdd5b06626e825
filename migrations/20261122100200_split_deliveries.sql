-- A delivery is in one of three tables: it waits, it is in flight, or it is closed. The first two are small and hot; the third, and the
-- attempts, are only ever added to, and forgotten by the day.

alter table deliveries rename to deliveries_in_one;
alter table attempts rename to attempts_in_one;
alter table deliveries_in_one rename constraint deliveries_pkey to deliveries_in_one_pkey;
alter table attempts_in_one rename constraint attempts_pkey to attempts_in_one_pkey;
alter index deliveries_of_company rename to deliveries_in_one_of_company;
alter index deliveries_of_subscription rename to deliveries_in_one_of_subscription;

create table waiting (
    id uuid not null,
    company_id uuid not null,
    subscription_id uuid not null,
    event_id uuid not null,
    -- the name of the event
    event text not null,
    -- the event's place among those about its record
    sequence bigint,
    -- of a subscription that wants order: what must be delivered one after another, a hash of the record's id
    chain bigint,
    -- the delivery this one repeats, when somebody asked for a replay
    replay_of uuid,
    -- 0: the first attempt; 1: retries and replays; 2: in the order of its chain
    lane smallint not null,
    -- when the next attempt may begin
    due_at timestamptz not null,
    -- attempts begun, those that a crash interrupted included
    attempts smallint not null default 0,
    -- attempts that failed: the place in the schedule
    failures smallint not null default 0,
    state text generated always as (case when attempts = 0 then 'pending' else 'retrying' end) stored,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint waiting_pkey primary key (id),
    -- lets whoever looks for a closed delivery leave this table out
    constraint waiting_is_open check (state in ('pending', 'retrying')),
    constraint waiting_lane_known check (lane between 0 and 2),
    constraint waiting_in_chain check ((lane = 2) = (chain is not null))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_scale_factor = 0.5);
-- What claiming reads: lane by lane, endpoint by endpoint, whatever is due first.
create index waiting_due on waiting (lane, subscription_id, due_at);
create index waiting_in_order on waiting (subscription_id, chain, sequence) where chain is not null;
create index waiting_of_company on waiting (company_id, created_at, id);
create index waiting_of_subscription on waiting (subscription_id, created_at, id);
create index waiting_of_event on waiting (event_id);
comment on table waiting is 'Deliveries whose next attempt has not begun. Fan-out and replays add rows, claiming takes them, failed attempts bring them back.';

create table in_flight (
    id uuid not null,
    company_id uuid not null,
    subscription_id uuid not null,
    event_id uuid not null,
    event text not null,
    sequence bigint,
    chain bigint,
    replay_of uuid,
    -- the number of the attempt that holds it
    attempts smallint not null,
    failures smallint not null,
    -- called off meanwhile: it may still arrive, but is not repeated
    called_off boolean not null default false,
    claimed_at timestamptz not null,
    created_at timestamptz not null,
    constraint in_flight_pkey primary key (id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index in_flight_by_lease on in_flight (claimed_at);
create index in_flight_in_order on in_flight (subscription_id, chain) where chain is not null;
comment on table in_flight is 'Deliveries that a worker is sending. A row is a lease: when it has run out, whoever held it is taken for dead.';

create table deliveries (
    id uuid not null,
    company_id uuid not null,
    subscription_id uuid not null,
    event_id uuid not null,
    event text not null,
    sequence bigint,
    replay_of uuid,
    state text not null,
    attempts smallint not null,
    created_at timestamptz not null,
    closed_at timestamptz not null,
    constraint deliveries_pkey primary key (id),
    constraint deliveries_state_known check (state in ('delivered', 'failed', 'cancelled'))
) partition by range (id);
create index deliveries_of_company on deliveries (company_id, created_at, id);
create index deliveries_of_subscription on deliveries (subscription_id, created_at, id);
create index deliveries_of_event on deliveries (event_id);
-- The few that somebody will look for.
create index deliveries_failed_of_company on deliveries (company_id, created_at, id) where state = 'failed';
create index deliveries_failed_of_subscription on deliveries (subscription_id, created_at, id) where state = 'failed';
create table deliveries_default partition of deliveries default;
comment on table deliveries is 'Closed deliveries, each written once, when it closes. Partitioned by the day the delivery was made.';

create table attempts (
    id uuid not null,
    delivery_id uuid not null,
    number smallint not null,
    started_at timestamptz not null,
    -- null when the attempt was interrupted and nobody knows
    duration_ms integer,
    -- the HTTP status, where one arrived
    status smallint,
    -- what went wrong, unless a whole answer arrived
    error text,
    -- JSON objects, as text: they are only ever shown
    request_headers text not null,
    response_headers text,
    -- the first 16 KiB, as they came
    response_body bytea,
    constraint attempts_pkey primary key (delivery_id, number),
    constraint attempts_ended_somehow check (status is not null or error is not null)
) partition by range (delivery_id);
create table attempts_default partition of attempts default;
comment on table attempts is 'One POST each; only ever added to. Partitioned by the day the delivery was made.';

insert into waiting (id, company_id, subscription_id, event_id, event, replay_of, lane, due_at, attempts, failures, created_at, updated_at)
select one.id, one.company_id, one.subscription_id, one.event_id, events.name, one.replay_of, case when one.attempts = 0 then 0 else 1 end,
       one.due_at, one.attempts, one.failures, one.created_at, one.updated_at
from deliveries_in_one as one join events on events.id = one.event_id
where one.due_at is not null;
insert into in_flight (id, company_id, subscription_id, event_id, event, replay_of, attempts, failures, called_off, claimed_at, created_at)
select one.id, one.company_id, one.subscription_id, one.event_id, events.name, one.replay_of, one.attempts, one.failures,
       one.state = 'cancelled', one.claimed_at, one.created_at
from deliveries_in_one as one join events on events.id = one.event_id
where one.claimed_at is not null;
insert into deliveries (id, company_id, subscription_id, event_id, event, replay_of, state, attempts, created_at, closed_at)
select one.id, one.company_id, one.subscription_id, one.event_id, events.name, one.replay_of, one.state, one.attempts, one.created_at, one.updated_at
from deliveries_in_one as one join events on events.id = one.event_id
where one.due_at is null and one.claimed_at is null;
insert into attempts (id, delivery_id, number, started_at, duration_ms, status, error, request_headers, response_headers, response_body)
select id, delivery_id, number, started_at, duration_ms, status, error, request_headers::text, response_headers::text, response_body
from attempts_in_one;
update endpoints set in_flight = counted.deliveries
from (select subscription_id, count(*) as deliveries from in_flight group by subscription_id) as counted
where counted.subscription_id = endpoints.subscription_id;
drop table attempts_in_one;
drop table deliveries_in_one;
drop function uuid_v7;

create view delivery_log as
select id, company_id, subscription_id, event_id, event, sequence, state, attempts, due_at, replay_of, created_at, updated_at,
       -- nobody changes a delivery from outside, so the instant of its last change tells its versions apart
       (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at
from waiting
union all
select id, company_id, subscription_id, event_id, event, sequence,
       case when called_off then 'cancelled' when attempts = 1 then 'pending' else 'retrying' end,
       attempts, null::timestamptz, replay_of, created_at, claimed_at,
       (extract(epoch from claimed_at) * 1000000)::bigint, null::timestamptz
from in_flight
union all
select id, company_id, subscription_id, event_id, event, sequence, state, attempts, null::timestamptz, replay_of, created_at, closed_at,
       (extract(epoch from closed_at) * 1000000)::bigint, null::timestamptz
from deliveries;
comment on view delivery_log is 'Every delivery, wherever it is.';
