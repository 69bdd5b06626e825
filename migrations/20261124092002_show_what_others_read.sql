-- What others read of events and subscriptions, by name, so that their owners may change the rest.

create view event_stream as
select id, company_id, name, subject_id, sequence, body, addressed_to, transaction_id, place
from events;
comment on view event_stream is
    'Events as whoever reads along or delivers them sees them. Read in the order of transaction_id and place, as events.transaction_id says.';

create view subscription_wishes as
select id as subscription_id, company_id, version, events, rate_limit, ordering
from subscriptions where status = 'enabled' and deleted_at is null;
comment on view subscription_wishes is
    'What enabled webhooks want. Who reads it to make deliveries locks it for share: who disables a webhook then waits, or is seen.';

create view subscription_endpoints as
select id as subscription_id, company_id, version, url, headers, sealed_headers, signature_format, timeout, rate_limit, sealed_secret,
       sealed_previous_secret, previous_secret_until, deleted_at
from subscriptions;
comment on view subscription_endpoints is
    'How deliveries are made to the endpoints of webhooks, enabled or not: what is in the queue of one that was disabled may still be a replay.';

create view cancellations as
select subscription_id, cancelled_before from endpoints where cancelled_before is not null;
comment on view cancellations is 'Endpoints whose deliveries are being cancelled, and how far.';
