-- Calling off what waits for an endpoint, however much that is: the endpoint says how far its deliveries are called off, so that none of them
-- is sent any more, and whoever comes by closes the next batch.

-- Not cached: what comes into `waiting` later has a greater number.
create sequence waiting_places;
alter table waiting add column place bigint not null default 0;
alter table waiting alter column place set default nextval('waiting_places');
alter sequence waiting_places owned by waiting.place;
comment on column waiting.place is 'Its number among all that ever came in.';

alter table endpoints add column called_off_before bigint;
create index endpoints_called_off on endpoints (called_off_before) where called_off_before is not null;
comment on column endpoints.called_off_before is
    'What waits with a lesser place is called off, and while there may be any of it, nothing of the endpoint is claimed. Null: nothing is.';
