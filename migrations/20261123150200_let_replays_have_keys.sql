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
