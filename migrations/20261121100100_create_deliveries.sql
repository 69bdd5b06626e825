-- What is sent to whom, and how it went.

-- A UUIDv7 of the instant `at`, for rows that a statement makes by the batch.
create function uuid_v7(at timestamptz) returns uuid language sql volatile parallel safe as $$
    select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0')
            || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid
$$;
comment on function uuid_v7 is 'Time first, chance after it, like the ids that the program makes.';

create table deliveries (
    id uuid not null,
    company_id uuid not null,
    subscription_id uuid not null,
    event_id uuid not null,
    -- the delivery this one repeats, when somebody asked for a replay
    replay_of uuid,
    state text not null,
    -- attempts begun, those that a crash interrupted included; of a delivery in flight, the number of the attempt that holds it
    attempts smallint not null default 0,
    -- attempts that failed: the place in the schedule
    failures smallint not null default 0,
    -- when the next attempt may begin; null in flight and when there is none
    due_at timestamptz,
    -- when the attempt in flight was claimed; null when none is
    claimed_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint deliveries_pkey primary key (id),
    constraint deliveries_subscription_id_fkey foreign key (subscription_id) references subscriptions (id),
    constraint deliveries_event_id_fkey foreign key (event_id) references events (id) on delete cascade,
    constraint deliveries_state_known check (state in ('pending', 'retrying', 'delivered', 'failed', 'cancelled')),
    constraint deliveries_due_or_in_flight check (due_at is null or claimed_at is null),
    constraint deliveries_open_until_decided check (
        (state in ('pending', 'retrying') or due_at is null)
        and (state not in ('pending', 'retrying') or due_at is not null or claimed_at is not null)
    )
);
create unique index deliveries_event_id_subscription_id_key on deliveries (event_id, subscription_id) where replay_of is null;
create index deliveries_of_company on deliveries (company_id, created_at, id);
create index deliveries_of_subscription on deliveries (subscription_id, created_at, id);
-- The two lists the worker reads; closed deliveries are in neither, so both stay as short as the work at hand.
create index deliveries_due on deliveries (subscription_id, due_at) where due_at is not null;
create index deliveries_in_flight on deliveries (subscription_id, claimed_at) where claimed_at is not null;
comment on table deliveries is 'One event for one subscription. Fan-out makes rows; claiming, recording, disabling and cancelling move them.';
comment on column deliveries.claimed_at is 'A claim is a lease: when it has run out, whoever held it is taken for dead and the delivery is due again.';

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
    request_headers jsonb not null,
    response_headers jsonb,
    -- the first 16 KiB, as they came
    response_body bytea,
    constraint attempts_pkey primary key (delivery_id, number),
    constraint attempts_delivery_id_fkey foreign key (delivery_id) references deliveries (id) on delete cascade,
    constraint attempts_ended_somehow check (status is not null or error is not null)
);
comment on table attempts is 'One POST each; only ever added to.';
