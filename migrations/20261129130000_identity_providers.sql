-- Identity providers of companies, in place of those of the deployment or beside them.
create table identity_providers (
    id uuid not null,
    company_id uuid not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    name text not null,
    status text not null,
    issuers text[] not null default '{}',
    audiences text[] not null default '{}',
    jwks_url text,
    client_id text,
    client_secret bytea,
    token_url text,
    graph_url text,
    constraint identity_providers_pkey primary key (id),
    constraint identity_providers_company_id_fkey foreign key (company_id) references companies (id),
    constraint identity_providers_status_known check (status in ('active', 'inactive'))
);
create unique index identity_providers_name on identity_providers (company_id, name) where deleted_at is null;
create index identity_providers_of_company on identity_providers (company_id, created_at, id);
comment on table identity_providers is 'Identity providers of companies, whose stores offer them in place of those of the deployment.';
comment on column identity_providers.name is 'The name in routes, such as idp-a in login-with-idp-a. One that the deployment lists stands in its place.';
comment on column identity_providers.status is 'A provider that is inactive is not offered, and neither is that of the deployment.';
comment on column identity_providers.issuers is 'The accepted issuers. None: those of the deployment, with its keys.';
comment on column identity_providers.audiences is 'The ids of the apps of the company at the provider.';
comment on column identity_providers.jwks_url is 'Where the keys of the provider are. Null: those of the deployment.';
comment on column identity_providers.client_id is 'The client that exchanges authorization codes; of idp-c, the app.';
comment on column identity_providers.client_secret is 'The secret of the client, encrypted under the application key for this row alone; never returned.';
comment on column identity_providers.token_url is 'Where authorization codes are exchanged.';
comment on column identity_providers.graph_url is 'The API of idp-c, with its version.';
