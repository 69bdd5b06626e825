-- Records of the extensions that files in config/extensions declare.
create table declared_records (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    -- whose kind: inventory/stock-items
    kind text not null,
    -- the members, as the kind's schema describes them
    data jsonb not null,
    constraint declared_records_pkey primary key (id),
    constraint declared_records_company_id_fkey foreign key (company_id) references companies (id),
    constraint declared_records_data_is_object check (jsonb_typeof(data) = 'object')
);
create index declared_records_of_company on declared_records (company_id, kind, created_at, id);
comment on table declared_records is 'Records of declared extensions. Each kind has indexes of its own on the members its lists can be narrowed by; the program makes them at start.';

create table declared_schemas (
    kind text not null,
    -- counts the changes of the schema
    version integer not null,
    schema jsonb not null,
    applied_at timestamptz not null,
    constraint declared_schemas_pkey primary key (kind),
    constraint declared_schemas_version_counts check (version > 0)
);
comment on table declared_schemas is 'The schema that the records of each declared kind fit; a later version has to fit them too.';
