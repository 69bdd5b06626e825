-- What was repeated under which idempotency key, so that a repeated request repeats nothing twice.
create table replay_keys (
    company_id uuid not null,
    key text not null,
    -- SHA-256 of what was asked for under it: the same key with anything else is a mistake
    digest bytea not null,
    -- the replay or the delivery that was made, or the event whose deliveries were
    made uuid not null,
    -- how many deliveries of the event
    count bigint not null default 0,
    created_at timestamptz not null,
    constraint replay_keys_pkey primary key (company_id, key),
    constraint replay_keys_company_id_fkey foreign key (company_id) references companies (id)
);
create index replay_keys_by_age on replay_keys (created_at);
comment on table replay_keys is 'Idempotency keys of the last 24 hours and the replays they stand for; older ones are swept away.';
