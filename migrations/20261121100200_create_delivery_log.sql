-- The logs in the form that every resource is read in.
create view delivery_log as
select deliveries.id, deliveries.company_id, deliveries.subscription_id, deliveries.event_id, events.name as event, deliveries.state,
       deliveries.attempts, deliveries.due_at, deliveries.replay_of, deliveries.created_at, deliveries.updated_at,
       -- nobody changes a delivery from outside, so the instant of its last change tells its versions apart
       (extract(epoch from deliveries.updated_at) * 1000000)::bigint as version,
       null::timestamptz as deleted_at
from deliveries join events on events.id = deliveries.event_id;
comment on view delivery_log is 'Deliveries with the names of their events.';

create view event_log as
select id, company_id, name as event, subject_id, body, created_at, created_at as updated_at, 1::bigint as version, null::timestamptz as deleted_at
from events;
comment on view event_log is 'Events, which never change.';
