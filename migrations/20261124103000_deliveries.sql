-- What is sent to whom, and how it went. A delivery is in one of three tables: it waits, it is in flight, or it is closed. The first two are small and
-- hot; the third, and the attempts, are only ever added to, and forgotten by the day.

-- Not cached: what comes into `waiting` later has a greater number.
create sequence waiting_places;

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
    lane smallint not null,
    place bigint not null default nextval('waiting_places'),
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
    constraint waiting_lane_known check (lane between 0 and 3),
    constraint waiting_in_chain check (lane <> 2 or chain is not null)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_scale_factor = 0.5);
alter sequence waiting_places owned by waiting.place;
-- What claiming reads: lane by lane, endpoint by endpoint, whatever is due first.
create index waiting_due on waiting (lane, subscription_id, due_at);
create index waiting_in_order on waiting (subscription_id, chain, sequence) where chain is not null;
create index waiting_of_company on waiting (company_id, created_at, id);
create index waiting_of_subscription on waiting (subscription_id, created_at, id);
create index waiting_of_event on waiting (event_id);
comment on table waiting is 'Deliveries whose next attempt has not begun. Fan-out and replays add rows, claiming takes them, failed attempts bring them back.';
-- Replays are on their own: whoever asks for one wants it made, however the endpoint is doing. They wait in a lane beside what the circuit holds back,
-- and are told apart in flight, where they take no place of the one on trial.
comment on column waiting.lane is
    '0: the first attempt; 1: retries; 2: behind another one of its chain, not to be claimed yet; 3: replays, and their retries';
comment on column waiting.place is 'Its number among all that ever came in.';

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
    cancelled boolean not null default false,
    claimed_at timestamptz not null,
    created_at timestamptz not null,
    constraint in_flight_pkey primary key (id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index in_flight_by_lease on in_flight (claimed_at);
create index in_flight_in_order on in_flight (subscription_id, chain) where chain is not null;
create index in_flight_replays on in_flight (subscription_id) where replay_of is not null;
comment on table in_flight is 'Deliveries that a worker is sending. A row is a lease: when it has run out, whoever held it is taken for dead.';
comment on column in_flight.cancelled is 'Cancelled meanwhile: it may still arrive, but is not repeated.';

-- Of a chain only the head can be claimed: the first of it, from the same lanes as any other delivery. Those behind it are in a lane that nobody
-- claims from, and step forward one by one, whatever ends the one before.
--
-- Who brings a delivery into a chain, or takes one out of it, holds the row of the endpoint: so each of them sees what the one before has done. What
-- is cancelled is closed without that, but nobody waits behind it any more.
create function let_the_head_go_ahead() returns trigger language plpgsql as $$
declare
    moved record := coalesce(new, old);
begin
    update waiting set lane = case when attempts = 0 then 0 else 1 end
    where lane = 2
    and id = (
        select id from waiting
        where subscription_id = moved.subscription_id and chain = moved.chain
        and place >= coalesce((select cancelled_before from endpoints where endpoints.subscription_id = moved.subscription_id), 0)
        order by sequence limit 1
    )
    and not exists (select from in_flight where subscription_id = moved.subscription_id and chain = moved.chain);
    return null;
end
$$;
comment on function let_the_head_go_ahead is 'Lets the first of a chain be claimed, unless one of them is in flight.';
create trigger joins_a_chain after insert on waiting for each row when (new.lane = 2) execute function let_the_head_go_ahead();
create trigger leaves_a_chain after delete on waiting for each row when (old.lane < 2 and old.chain is not null)
    execute function let_the_head_go_ahead();
create trigger leaves_a_chain after delete on in_flight for each row when (old.chain is not null) execute function let_the_head_go_ahead();

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

-- The log in the form that every resource is read in, with the payload, for whoever looks for words in it. A subquery, which costs nothing where
-- nobody asks for it.
create view delivery_log as
select id, company_id, subscription_id, event_id, event, sequence, case when attempts = 0 then 'pending' else 'retrying' end as state,
       attempts, due_at, replay_of, created_at, updated_at,
       -- nobody changes a delivery from outside, so the instant of its last change tells its versions apart
       (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at,
       (select convert_from(events.body, 'UTF8') from events where events.id = event_id) as payload
from waiting
union all
select id, company_id, subscription_id, event_id, event, sequence,
       case when cancelled then 'cancelled' when attempts = 1 then 'pending' else 'retrying' end,
       attempts, null::timestamptz, replay_of, created_at, claimed_at,
       (extract(epoch from claimed_at) * 1000000)::bigint, null::timestamptz,
       (select convert_from(events.body, 'UTF8') from events where events.id = event_id)
from in_flight
union all
select id, company_id, subscription_id, event_id, event, sequence, state, attempts, null::timestamptz, replay_of, created_at, closed_at,
       (extract(epoch from closed_at) * 1000000)::bigint, null::timestamptz,
       (select convert_from(events.body, 'UTF8') from events where events.id = event_id)
from deliveries;
comment on view delivery_log is 'Every delivery, wherever it is.';
