-- What orders are carried in.
create table vehicles (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    name text,
    plate_number text,
    kind text,
    make text,
    model text,
    year integer,
    color text,
    vin text,
    status text not null,
    driver_id uuid,
    fleet_id uuid,
    online boolean not null,
    latitude double precision,
    longitude double precision,
    heading double precision,
    speed double precision,
    altitude double precision,
    location_updated_at timestamptz,
    meta jsonb not null,
    constraint vehicles_pkey primary key (id),
    constraint vehicles_company_id_fkey foreign key (company_id) references companies (id),
    constraint vehicles_driver_id_fkey foreign key (driver_id) references drivers (id),
    constraint vehicles_fleet_id_fkey foreign key (fleet_id) references fleets (id),
    constraint vehicles_known_by_something check (name is not null or plate_number is not null),
    constraint vehicles_status_known check (status in ('active', 'maintenance', 'out_of_service', 'retired')),
    constraint vehicles_location_whole check ((latitude is null) = (longitude is null))
) with (fillfactor = 70);
create index vehicles_of_company on vehicles (company_id, created_at, id);
create index vehicles_of_driver on vehicles (driver_id) where driver_id is not null;
create index vehicles_of_fleet on vehicles (fleet_id) where fleet_id is not null;
comment on table vehicles is 'What orders are carried in, who drives it and where it was last. Pages keep room, so that a new position stays on the page of the old one.';
comment on column vehicles.kind is 'What the shop calls this kind of vehicle; the member type.';
comment on column vehicles.heading is 'Degrees clockwise from north.';
comment on column vehicles.location_updated_at is 'When it was at that location, or last said to be.';
