-- A ban may end by itself.
alter table customers add column banned_until timestamptz;
comment on column customers.banned_until is 'When the ban ends by itself; null while it lasts until it is lifted.';

create or replace view customer_records as
select id, company_id, store_id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta, closed_at, created_at,
       updated_at, (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at,
       email_key, banned_at, banned_reason, test_identity_id is not null as test, external_id, banned_until
from customers;
