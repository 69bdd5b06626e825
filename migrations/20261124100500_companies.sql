-- Tenants and the keys they call the extension routes with.

create table companies (
    id uuid not null,
    name text not null,
    created_at timestamptz not null,
    constraint companies_pkey primary key (id),
    constraint companies_name_present check (name <> '')
);
comment on table companies is 'An organization: the tenant that stores, resources, events and webhooks belong to.';

-- Records that a company manages itself.
create table api_keys (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    name text not null,
    -- SHA-256 of the whole key; the key itself has 238 random bits and cannot be searched for
    digest bytea not null,
    scopes text[] not null,
    -- empty: from anywhere
    allowed_networks text[] not null default '{}',
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    replaces uuid,
    constraint api_keys_pkey primary key (id),
    constraint api_keys_digest_key unique (digest),
    constraint api_keys_company_id_fkey foreign key (company_id) references companies (id),
    constraint api_keys_replaces_fkey foreign key (replaces) references api_keys (id),
    constraint api_keys_scopes_known check (scopes <@ array['callbacks', 'events', 'read', 'write', 'admin'])
);
create index api_keys_of_company on api_keys (company_id, created_at, id);
comment on table api_keys is 'Keys of a company for the extension routes, shown once when created.';
comment on column api_keys.allowed_networks is 'Networks requests with this key may come from, in CIDR notation; empty means any.';
comment on column api_keys.revoked_at is 'From this instant on the key is refused; in the future while a rolled key overlaps with its successor.';
comment on column api_keys.last_used_at is 'Written off the request path, at most every few minutes.';
comment on column api_keys.replaces is 'The key this one was rolled from.';
