-- What a fleet counts.
create view fleet_members as
    select fleet_id, 'driver' as kind from drivers where fleet_id is not null and deleted_at is null
    union all
    select fleet_id, 'vehicle' from vehicles where fleet_id is not null and deleted_at is null;
comment on view fleet_members is 'The drivers and vehicles of each fleet, one row for each.';
