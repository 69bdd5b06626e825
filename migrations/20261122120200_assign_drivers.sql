-- Drivers belong to fleets, and report where they are thousands of times a second.
alter table drivers
    add column status text not null default 'active',
    add column fleet_id uuid,
    add constraint drivers_status_known check (status in ('active', 'inactive')),
    add constraint drivers_fleet_id_fkey foreign key (fleet_id) references fleets (id),
    set (fillfactor = 70);
alter table drivers alter column status drop default;
create index drivers_of_fleet on drivers (fleet_id) where fleet_id is not null;
comment on table drivers is 'People who carry orders, and where they were last. Deleted ones stay for the orders they carried. Pages keep room, so that a new position stays on the page of the old one.';
comment on column drivers.location_updated_at is 'When they were at that location, or last said to be.';
