-- API keys become records that a company manages itself.
alter table api_keys
    add column version bigint not null default 1,
    add column updated_at timestamptz,
    add column deleted_at timestamptz,
    add column expires_at timestamptz,
    -- empty: from anywhere
    add column allowed_networks text[] not null default '{}',
    add column last_used_at timestamptz,
    add column replaces uuid;
update api_keys set updated_at = created_at;
alter table api_keys
    alter column updated_at set not null,
    alter column version drop default,
    add constraint api_keys_replaces_fkey foreign key (replaces) references api_keys (id);
drop index api_keys_company_id;
create index api_keys_of_company on api_keys (company_id, created_at, id);
comment on column api_keys.allowed_networks is 'Networks requests with this key may come from, in CIDR notation; empty means any.';
comment on column api_keys.last_used_at is 'Written off the request path, at most every few minutes.';
comment on column api_keys.replaces is 'The key this one was rolled from.';
