-- How each subscription's endpoint is doing, and what it may be asked for.

alter table subscriptions
    add column rate_limit smallint,
    add column ordering text not null default 'none',
    add constraint subscriptions_rate_limit_range check (rate_limit between 1 and 1000),
    add constraint subscriptions_ordering_known check (ordering in ('none', 'resource'));
comment on column subscriptions.rate_limit is 'Attempts a second at most; null: as many as there are.';
comment on column subscriptions.ordering is 'resource: the next delivery of a resource waits until the one before has ended; none: nothing waits.';

create table endpoints (
    subscription_id uuid not null,
    -- deliveries of this endpoint in in_flight; counted here, because whoever claims has to know it exactly
    in_flight integer not null default 0,
    -- what the rate limit lets begin next: the theoretical arrival time of the generic cell rate algorithm
    next_arrival_at timestamptz,
    consecutive_failures integer not null default 0,
    -- the first failure since the last success
    failing_since timestamptz,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    -- null: the circuit is closed; before then it is open; after then it is half open
    open_until timestamptz,
    constraint endpoints_pkey primary key (subscription_id),
    constraint endpoints_in_flight_counted check (in_flight >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
comment on table endpoints is
    'One row for each subscription, written with every batch. Whoever moves deliveries of an endpoint between the tables locks its row first.';
insert into endpoints (subscription_id) select id from subscriptions;
