-- What was published under which idempotency key, so that a repeated request publishes nothing twice.

create table publishing_keys (
    company_id uuid not null,
    key text not null,
    -- SHA-256 of what was published under it: the same key with anything else is a mistake
    digest bytea not null,
    event_id uuid not null,
    created_at timestamptz not null,
    constraint publishing_keys_pkey primary key (company_id, key),
    constraint publishing_keys_company_id_fkey foreign key (company_id) references companies (id)
);
create index publishing_keys_by_age on publishing_keys (created_at);
comment on table publishing_keys is 'Idempotency keys of the last 24 hours and the events they stand for; older ones are swept away.';
