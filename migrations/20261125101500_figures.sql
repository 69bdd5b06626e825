-- What charts are made of: counts by the hour, kept by the statements that do what is counted.

create table attempt_hours (
    subscription_id uuid not null,
    -- the hour in which the attempts ended
    hour timestamptz not null,
    -- the place of their durations in a histogram; see webhooks/latency.rs
    bucket smallint not null,
    company_id uuid not null,
    succeeded integer not null default 0,
    failed integer not null default 0,
    constraint attempt_hours_pkey primary key (subscription_id, hour, bucket),
    constraint attempt_hours_bucket_range check (bucket between 0 and 31)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index attempt_hours_of_company on attempt_hours (company_id, hour);
create index attempt_hours_by_age on attempt_hours using brin (hour);
comment on table attempt_hours is
    'Attempts of each endpoint by hour, outcome and duration, without replays. Written with the attempts, under the lock of the endpoint''s row.';

create table event_hours (
    company_id uuid not null,
    -- the hour in which the events were fanned out
    hour timestamptz not null,
    events bigint not null,
    constraint event_hours_pkey primary key (company_id, hour)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index event_hours_by_age on event_hours using brin (hour);
comment on table event_hours is
    'Events of each company by hour. Written by fan-out alone, of which there is one at a time, so nobody waits for a row.';
