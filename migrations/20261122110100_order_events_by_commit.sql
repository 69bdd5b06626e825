-- The order in which events become visible, for whoever reads along and must not miss one. Ids are made before the commit: an event with a
-- smaller id may appear after one with a greater id. A transaction's own id is a better place: once no transaction before it is open any
-- more, nothing can appear before it.
create sequence event_places cache 100;
alter table events
    add column transaction_id xid8 not null default pg_current_xact_id(),
    -- among the events of its transaction
    add column place bigint not null default nextval('event_places');
create index events_in_order on events (company_id, transaction_id, place);
comment on column events.transaction_id is 'Whoever reads along reads what is less than pg_snapshot_xmin(pg_current_snapshot()): all of that is there.';
