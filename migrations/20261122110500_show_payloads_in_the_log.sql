-- The log with the payload, for whoever looks for words in it. A subquery, which costs nothing where nobody asks for it.
create or replace view delivery_log as
select id, company_id, subscription_id, event_id, event, sequence, case when attempts = 0 then 'pending' else 'retrying' end as state,
       attempts, due_at, replay_of, created_at, updated_at,
       -- nobody changes a delivery from outside, so the instant of its last change tells its versions apart
       (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at,
       (select convert_from(events.body, 'UTF8') from events where events.id = event_id) as payload
from waiting
union all
select id, company_id, subscription_id, event_id, event, sequence,
       case when called_off then 'cancelled' when attempts = 1 then 'pending' else 'retrying' end,
       attempts, null::timestamptz, replay_of, created_at, claimed_at,
       (extract(epoch from claimed_at) * 1000000)::bigint, null::timestamptz,
       (select convert_from(events.body, 'UTF8') from events where events.id = event_id)
from in_flight
union all
select id, company_id, subscription_id, event_id, event, sequence, state, attempts, null::timestamptz, replay_of, created_at, closed_at,
       (extract(epoch from closed_at) * 1000000)::bigint, null::timestamptz,
       (select convert_from(events.body, 'UTF8') from events where events.id = event_id)
from deliveries;
