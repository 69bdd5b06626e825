-- A webhook can be paused: its deliveries are made and held, until it is resumed.

alter table subscriptions add column paused_at timestamptz;
alter table subscriptions drop constraint subscriptions_status_known;
alter table subscriptions add constraint subscriptions_status_known check (status in ('enabled', 'paused', 'disabled'));
alter table subscriptions add constraint subscriptions_paused_says_when check ((status = 'paused') = (paused_at is not null));
comment on column subscriptions.paused_at is 'Since when its deliveries are held.';

-- Those who move deliveries lock the row of the endpoint and read nothing of its subscription, so the row says it too.
alter table endpoints add column paused boolean not null default false;
create index endpoints_paused on endpoints (subscription_id) where paused;
comment on column endpoints.paused is 'The subscription is paused: nothing is taken into flight, whatever lane it waits in.';

create or replace view subscription_wishes as
select id as subscription_id, company_id, version, events, rate_limit, ordering
from subscriptions where status in ('enabled', 'paused') and deleted_at is null;
comment on view subscription_wishes is
    'What webhooks want that get deliveries, paused or not. Who reads it to make deliveries locks it for share: who disables a webhook then waits, or is seen.';
