-- Statuses that somebody records by hand say more than a word.
alter table tracking_statuses
    add column details text,
    add column place text,
    add column latitude double precision,
    add column longitude double precision,
    add column meta jsonb not null default '{}',
    add constraint tracking_statuses_location_whole check ((latitude is null) = (longitude is null));
alter table tracking_statuses alter column meta drop default;
comment on table tracking_statuses is 'Every status an order reached, written with the change, and what was recorded by hand beside them.';
comment on column tracking_statuses.place is 'Where it happened, in words.';
