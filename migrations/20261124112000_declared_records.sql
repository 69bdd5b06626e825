-- Records of the extensions that files in config/extensions declare, and the schemas they fit.

create table declared_schemas (
    kind text not null,
    -- counts the changes of the schema
    version integer not null,
    schema jsonb not null,
    applied_at timestamptz not null,
    constraint declared_schemas_pkey primary key (kind, version),
    constraint declared_schemas_version_counts check (version > 0)
);
comment on table declared_schemas is 'Every schema that records of a declared kind may have been written under; the latest fits them all.';

create table declared_records (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    -- whose kind: inventory/stock-items
    kind text not null,
    -- the version of the kind's schema that it was last written under
    schema_version integer not null,
    -- the members, as the kind's schema describes them
    data jsonb not null,
    constraint declared_records_pkey primary key (id),
    constraint declared_records_company_id_fkey foreign key (company_id) references companies (id),
    -- who knows only a schema that has been given up since writes nothing
    constraint declared_records_schema_fkey foreign key (kind, schema_version) references declared_schemas (kind, version),
    constraint declared_records_data_is_object check (jsonb_typeof(data) = 'object')
);
-- The indexes on members are made of expressions that are an error of no record, whatever version of its schema it was written under.
create index declared_records_of_company on declared_records (company_id, kind, created_at, id);
-- whether any are left, before a schema is given up
create index declared_records_by_schema on declared_records (kind, schema_version);
comment on table declared_records is 'Records of declared extensions. Each kind has indexes of its own on the members its lists can be narrowed by; the program makes them at start.';
