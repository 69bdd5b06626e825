-- What the shop, or the service that customers moved in from, knows them by.
alter table customers add column external_id text;
comment on column customers.external_id is
    'The id of the customer in the systems of the shop, or of the service that they moved in from, if we were told; null after the erasure. One open account of a store has it.';

create or replace view customer_records as
select id, company_id, store_id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta, closed_at, created_at,
       updated_at, (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at,
       email_key, banned_at, banned_reason, test_identity_id is not null as test, external_id
from customers;
