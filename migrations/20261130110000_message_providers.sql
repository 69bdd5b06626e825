-- Providers of texts and mails that belong to companies, in place of those of the deployment.
create table message_providers (
    id uuid not null,
    company_id uuid not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    channel text not null,
    kind text not null,
    status text not null,
    falls_back boolean not null default false,
    settings jsonb not null default '{}',
    secret bytea,
    constraint message_providers_pkey primary key (id),
    constraint message_providers_company_id_fkey foreign key (company_id) references companies (id) on delete cascade,
    constraint message_providers_channel_known check (channel in ('sms', 'email')),
    constraint message_providers_status_known check (status in ('active', 'inactive'))
);
create unique index message_providers_active on message_providers (company_id, channel) where status = 'active' and deleted_at is null;
create index message_providers_of_company on message_providers (company_id, created_at, id);
comment on table message_providers is 'Providers of companies, which send the texts and mails of their stores in place of those of the deployment.';
comment on column message_providers.kind is 'The service, or webhook: the endpoint of the company.';
comment on column message_providers.status is 'An inactive provider is as good as none: that of the deployment sends.';
comment on column message_providers.falls_back is 'Whether the providers of the deployment are tried after it has failed.';
comment on column message_providers.settings is 'What the kind needs to be told, without secrets.';
comment on column message_providers.secret is 'The secret that the kind needs, encrypted under the application key for this row alone; never returned.';
