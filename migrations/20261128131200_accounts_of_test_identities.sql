-- Accounts that are marked as tests.

alter table customers add column test_identity_id uuid;
comment on column customers.test_identity_id is 'The test identity that the account was made with; null for the account of a customer.';

create or replace view customer_records as
select id, company_id, store_id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta, closed_at, created_at,
       updated_at, (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at,
       email_key, banned_at, banned_reason, test_identity_id is not null as test
from customers;
