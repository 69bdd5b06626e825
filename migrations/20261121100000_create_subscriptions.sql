-- Who wants which events, and where they are sent.
create table subscriptions (
    id uuid not null,
    company_id uuid not null,
    url text not null,
    description text,
    -- event names, groups (order.*) or *; empty: every event
    events text[] not null,
    status text not null,
    disabled_reason text,
    disabled_at timestamptz,
    api_version text not null,
    -- whether X-Service-Signature is bare hex or prefixed with sha256=
    signature_format text not null,
    -- further headers of every POST, an object of lower-case names and values
    headers jsonb not null,
    -- seconds one attempt may take, connecting and reading the answer included
    timeout smallint not null,
    sealed_secret bytea not null,
    sealed_previous_secret bytea,
    previous_secret_until timestamptz,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint subscriptions_pkey primary key (id),
    constraint subscriptions_company_id_fkey foreign key (company_id) references companies (id),
    constraint subscriptions_status_known check (status in ('enabled', 'disabled')),
    constraint subscriptions_disabled_says_why_and_when check (
        (status = 'disabled') = (disabled_at is not null) and (status = 'disabled') = (disabled_reason is not null)
    ),
    constraint subscriptions_disabled_reason_known check (disabled_reason in ('requested', 'gone')),
    constraint subscriptions_signature_format_known check (signature_format in ('bare', 'prefixed')),
    constraint subscriptions_timeout_range check (timeout between 1 and 30),
    constraint subscriptions_previous_secret_ends check ((sealed_previous_secret is null) = (previous_secret_until is null))
);
create index subscriptions_of_company on subscriptions (company_id, created_at, id) where deleted_at is null;
comment on table subscriptions is 'A webhook: an endpoint URL of a company and the events it wants.';
comment on column subscriptions.disabled_reason is 'requested: by an operator or an API key; gone: the endpoint answered 410.';
comment on column subscriptions.sealed_secret is 'The signing secret, encrypted under the application key for this row alone.';
comment on column subscriptions.previous_secret_until is 'Until then the previous secret signs as well: a rotation overlaps.';
