-- Servers of companies that are asked before a customer registers.
create table registration_hooks (
    id uuid not null,
    company_id uuid not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    store_id uuid not null,
    url text not null,
    status text not null,
    on_failure text not null,
    sealed_secret bytea not null,
    sealed_previous_secret bytea,
    previous_secret_until timestamptz,
    constraint registration_hooks_pkey primary key (id),
    constraint registration_hooks_company_id_fkey foreign key (company_id) references companies (id) on delete cascade,
    constraint registration_hooks_store_id_fkey foreign key (store_id) references stores (id) on delete cascade,
    constraint registration_hooks_status_known check (status in ('active', 'inactive')),
    constraint registration_hooks_on_failure_known check (on_failure in ('refuse', 'allow'))
);
create unique index registration_hooks_store on registration_hooks (store_id) where deleted_at is null;
create index registration_hooks_of_company on registration_hooks (company_id, created_at, id);
comment on table registration_hooks is 'Servers of companies that are asked before a customer registers in a store.';
comment on column registration_hooks.status is 'A hook that is inactive is not asked, and everybody may register.';
comment on column registration_hooks.on_failure is 'What happens to a registration if the hook does not answer as it should.';
comment on column registration_hooks.sealed_secret is 'The signing secret, encrypted under the application key for this row alone.';
comment on column registration_hooks.sealed_previous_secret is 'The one before, which signs as well until previous_secret_until.';
