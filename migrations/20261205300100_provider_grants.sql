-- What gives a company's app access to the accounts of customers at an identity provider, until it is given back. The edition before does not
-- know the table: what it deletes takes its rows along.

create table provider_grants (
    id uuid not null,
    store_id uuid not null,
    provider text not null,
    subject text,
    customer_id uuid not null,
    sealed_token bytea not null,
    created_at timestamptz not null,
    ended_at timestamptz,
    revoke_at timestamptz,
    constraint provider_grants_pkey primary key (id),
    constraint provider_grants_customer_id_fkey foreign key (customer_id) references customers (id) on delete cascade,
    -- a later one of the same person takes its place
    constraint provider_grants_subject unique (store_id, provider, subject)
);
create index provider_grants_customer_id on provider_grants (customer_id);
create index provider_grants_revoke_at on provider_grants (revoke_at) where revoke_at is not null;
comment on table provider_grants is 'Access of apps to accounts at identity providers: used for nothing, and given back when the account here is closed.';
comment on column provider_grants.provider is 'As in provider_links.';
comment on column provider_grants.subject is 'As in provider_links. Null once the account is erased.';
comment on column provider_grants.sealed_token is 'The refresh token, encrypted under the application key for this row alone.';
comment on column provider_grants.ended_at is 'Since when it is to be given back.';
comment on column provider_grants.revoke_at is 'When the provider is asked next to take it back.';
