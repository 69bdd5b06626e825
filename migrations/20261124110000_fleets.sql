-- Who and what carries orders: fleets, and the drivers and vehicles in them, which report where they are thousands of times a second.
--
-- A list that is narrowed by a column is read from where it begins or goes on, however many records have something else in that column: that is what
-- the indexes `…_of_company_by_…` are for, here and in the files of orders and payments. What a record need not have is in no index where it has
-- nothing. Columns that change with a position have none.

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
create index fleets_of_company_by_status on fleets (company_id, status, created_at, id) where deleted_at is null;
create index fleets_of_company_by_parent on fleets (company_id, parent_id, created_at, id)
    where deleted_at is null and parent_id is not null;
create index fleets_of_parent on fleets (parent_id) where parent_id is not null;
comment on table fleets is 'Groups of drivers and vehicles, which name the fleet they belong to.';
comment on column fleets.parent_id is 'The larger fleet this one is a part of; never a part of itself by any way.';

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
    status text not null,
    fleet_id uuid,
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
    constraint drivers_fleet_id_fkey foreign key (fleet_id) references fleets (id),
    constraint drivers_name_present check (name <> ''),
    constraint drivers_status_known check (status in ('active', 'inactive')),
    constraint drivers_location_whole check ((latitude is null) = (longitude is null))
) with (fillfactor = 70);
create index drivers_of_company on drivers (company_id, created_at, id);
create index drivers_of_company_by_status on drivers (company_id, status, created_at, id) where deleted_at is null;
create index drivers_of_company_by_fleet on drivers (company_id, fleet_id, created_at, id)
    where deleted_at is null and fleet_id is not null;
create index drivers_of_company_by_phone on drivers (company_id, phone, created_at, id)
    where deleted_at is null and phone is not null;
create index drivers_of_company_by_email on drivers (company_id, email, created_at, id)
    where deleted_at is null and email is not null;
create index drivers_of_company_by_license_number on drivers (company_id, license_number, created_at, id)
    where deleted_at is null and license_number is not null;
create index drivers_of_fleet on drivers (fleet_id) where fleet_id is not null;
comment on table drivers is 'People who carry orders, and where they were last. Deleted ones stay for the orders they carried. Pages keep room, so that a new position stays on the page of the old one.';
comment on column drivers.heading is 'Degrees clockwise from north.';
comment on column drivers.location_updated_at is 'When they were at that location, or last said to be.';

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
create index vehicles_of_company_by_status on vehicles (company_id, status, created_at, id) where deleted_at is null;
create index vehicles_of_company_by_driver on vehicles (company_id, driver_id, created_at, id)
    where deleted_at is null and driver_id is not null;
create index vehicles_of_company_by_fleet on vehicles (company_id, fleet_id, created_at, id)
    where deleted_at is null and fleet_id is not null;
create index vehicles_of_company_by_kind on vehicles (company_id, kind, created_at, id)
    where deleted_at is null and kind is not null;
create index vehicles_of_company_by_plate_number on vehicles (company_id, plate_number, created_at, id)
    where deleted_at is null and plate_number is not null;
create index vehicles_of_company_by_vin on vehicles (company_id, vin, created_at, id)
    where deleted_at is null and vin is not null;
create index vehicles_of_driver on vehicles (driver_id) where driver_id is not null;
create index vehicles_of_fleet on vehicles (fleet_id) where fleet_id is not null;
comment on table vehicles is 'What orders are carried in, who drives it and where it was last. Pages keep room, so that a new position stays on the page of the old one.';
comment on column vehicles.kind is 'What the shop calls this kind of vehicle; the member type.';
comment on column vehicles.heading is 'Degrees clockwise from north.';
comment on column vehicles.location_updated_at is 'When it was at that location, or last said to be.';

-- What a fleet counts.
create view fleet_members as
    select fleet_id, 'driver' as kind from drivers where fleet_id is not null and deleted_at is null
    union all
    select fleet_id, 'vehicle' from vehicles where fleet_id is not null and deleted_at is null;
comment on view fleet_members is 'The drivers and vehicles of each fleet, one row for each.';
