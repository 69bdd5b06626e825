-- The people who carry orders.
create table drivers (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    name text not null,
    -- E.164
    phone text,
    email text,
    license_number text,
    online boolean not null,
    latitude double precision,
    longitude double precision,
    heading double precision,
    speed double precision,
    altitude double precision,
    location_updated_at timestamptz,
    meta jsonb not null,
    constraint drivers_pkey primary key (id),
    constraint drivers_company_id_fkey foreign key (company_id) references companies (id),
    constraint drivers_name_present check (name <> ''),
    constraint drivers_location_whole check ((latitude is null) = (longitude is null))
);
create index drivers_of_company on drivers (company_id, created_at, id);
comment on table drivers is 'People who carry orders, and where they were last. Deleted ones stay for the orders they carried.';
comment on column drivers.heading is 'Degrees clockwise from north.';
comment on column drivers.location_updated_at is 'When latitude, longitude, heading, speed or altitude last changed.';
