-- Accounts of companies at payment gateways, and what a gateway's callbacks are verified with and understood by.

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
    -- both encrypted under the application key for this row alone
    secret_key bytea,
    signing_secret bytea,
    settings jsonb not null default '{}',
    constraint gateways_pkey primary key (id),
    constraint gateways_company_id_fkey foreign key (company_id) references companies (id),
    constraint gateways_name_present check (name <> ''),
    constraint gateways_status_known check (status in ('active', 'inactive'))
);
create index gateways_of_company on gateways (company_id, created_at, id);
-- The card helpers ask "the" card gateway of a company.
create unique index gateways_active_card on gateways (company_id) where driver = 'card' and status = 'active' and deleted_at is null;
comment on table gateways is 'Accounts of companies at payment gateways, and what opens them.';
-- The program has one list of its drivers, with what each of them needs, and validates gateways by it.
comment on column gateways.driver is 'How the gateway is spoken to; it says what the other columns mean. The drivers are those of the program.';
comment on column gateways.secret_key is 'What calls to the gateway are authenticated with; never returned.';
comment on column gateways.signing_secret is 'What the gateway signs its callbacks with; never returned.';
comment on column gateways.settings is 'What the driver needs to know beside the secrets: header, encoding, where things stand in a body.';

-- A callback is recorded with the id and the company of a gateway that was read. Both stay: a gateway is never deleted, only marked as deleted,
-- and never moves to another company. Enforcing that here costs nothing; a foreign key would look up, and lock, the gateway for each callback.
create function refuse_to_move_a_gateway() returns trigger language plpgsql as $$
begin
    raise exception 'a gateway keeps its id and company, and is never deleted' using errcode = 'restrict_violation';
end
$$;
comment on function refuse_to_move_a_gateway is 'Callbacks and payments name their gateway without a foreign key.';
create trigger gateways_stay before delete on gateways for each row execute function refuse_to_move_a_gateway();
create trigger gateways_keep_their_company before update on gateways
    for each row when ((old.id, old.company_id) is distinct from (new.id, new.company_id)) execute function refuse_to_move_a_gateway();
