-- What customers were known by at the service that they moved in from.
alter table customers add column external_id text;
comment on column customers.external_id is
    'What the customer was known by at the service that they moved in from; null for those who registered here, and after the erasure. A line of an import with a known one changes nothing.';

create or replace view customer_records as
select id, company_id, store_id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta, closed_at, created_at,
       updated_at, (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at,
       email_key, banned_at, banned_reason, test_identity_id is not null as test, external_id
from customers;
