-- Groups of drivers and vehicles.
create table fleets (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    name text not null,
    description text,
    status text not null,
    parent_id uuid,
    meta jsonb not null,
    constraint fleets_pkey primary key (id),
    constraint fleets_company_id_fkey foreign key (company_id) references companies (id),
    constraint fleets_parent_id_fkey foreign key (parent_id) references fleets (id),
    constraint fleets_not_their_own_parent check (parent_id <> id),
    constraint fleets_status_known check (status in ('active', 'inactive'))
);
create index fleets_of_company on fleets (company_id, created_at, id);
create index fleets_of_parent on fleets (parent_id) where parent_id is not null;
comment on table fleets is 'Groups of drivers and vehicles, which name the fleet they belong to.';
comment on column fleets.parent_id is 'The larger fleet this one is a part of; never a part of itself by any way.';
