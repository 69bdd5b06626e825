-- Accounts of companies at payment gateways.
create table gateways (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    name text not null,
    driver text not null,
    status text not null,
    -- encrypted under the application key for this row alone
    secret_key bytea,
    constraint gateways_pkey primary key (id),
    constraint gateways_company_id_fkey foreign key (company_id) references companies (id),
    constraint gateways_name_present check (name <> ''),
    constraint gateways_driver_known check (driver in ('card', 'hmac', 'manual')),
    constraint gateways_status_known check (status in ('active', 'inactive')),
    constraint gateways_card_has_key check (driver <> 'card' or secret_key is not null)
);
create index gateways_of_company on gateways (company_id, created_at, id);
-- The card helpers ask "the" card gateway of a company.
create unique index gateways_active_card on gateways (company_id) where driver = 'card' and status = 'active' and deleted_at is null;
comment on table gateways is 'Accounts of companies at payment gateways, and what opens them.';
comment on column gateways.driver is 'How the gateway is spoken to; it says what the other columns mean.';
comment on column gateways.secret_key is 'What calls to the gateway are authenticated with; never returned.';
