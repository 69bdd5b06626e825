-- Replays of many deliveries: a row each, worked off in batches, so that neither a request nor a restart loses the rest of one.

create table replays (
    id uuid not null,
    company_id uuid not null,
    subscription_id uuid not null,
    -- which closed deliveries are repeated
    state text not null,
    -- those made from then on …
    since timestamptz not null,
    -- … until the replay was asked for
    until timestamptz not null,
    -- how many there were then
    expected bigint not null,
    -- how many have been made
    made bigint not null,
    -- the last delivery that was repeated
    position_at timestamptz not null,
    position_id uuid not null,
    finished_at timestamptz,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint replays_pkey primary key (id),
    constraint replays_company_id_fkey foreign key (company_id) references companies (id),
    constraint replays_subscription_id_fkey foreign key (subscription_id) references subscriptions (id),
    constraint replays_state_known check (state in ('delivered', 'failed', 'cancelled'))
);
create index replays_of_company on replays (company_id, created_at, id);
create index replays_to_do on replays (created_at) where finished_at is null;
create index replays_of_subscription on replays (subscription_id) where finished_at is null;
comment on table replays is 'Requests to repeat deliveries of one subscription; a worker makes the deliveries and notes how far it has come.';

-- The idempotency keys of replay requests, so that a retried request does not replay twice.
create table replay_keys (
    company_id uuid not null,
    key text not null,
    -- SHA-256 of the request: the same key with another request is an error
    digest bytea not null,
    -- the id of the replay or the delivery that was created, or of the event whose deliveries were created
    made uuid not null,
    -- the number of deliveries of the event that were created
    count bigint not null default 0,
    created_at timestamptz not null,
    constraint replay_keys_pkey primary key (company_id, key),
    constraint replay_keys_company_id_fkey foreign key (company_id) references companies (id)
);
create index replay_keys_by_age on replay_keys (created_at);
comment on table replay_keys is 'Idempotency keys of the last 24 hours and the replays they stand for; older ones are swept away.';
