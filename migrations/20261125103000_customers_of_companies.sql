-- Operators list customers, sign-ins, sessions and texts by company and find them by what people write down. Each row says which company it belongs
-- to, so that a list is read from an index, however many rows there are; a store never moves to another company. Customers can be banned.

alter table customers add column company_id uuid, add column banned_at timestamptz, add column banned_reason text,
    add constraint customers_ban_explained check ((banned_at is null) = (banned_reason is null));
update customers set company_id = stores.company_id from stores where stores.id = customers.store_id;
alter table customers alter column company_id set not null;
create index customers_of_company on customers (company_id, created_at, id);
create index customers_of_company_by_email on customers (company_id, email_key, created_at, id) where email_key is not null;
create index customers_of_company_by_phone on customers (company_id, phone, created_at, id) where phone is not null;
comment on column customers.banned_at is 'Since when the customer may not sign in: an operator decided so.';

create or replace view customer_records as
select id, company_id, store_id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta, closed_at, created_at,
       updated_at, (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at,
       email_key, banned_at, banned_reason
from customers;

create or replace view customer_companies as select id, company_id from customers;

-- Whoever writes a row of a store looks up its company.
create view store_companies as select id, company_id from stores;
comment on view store_companies is 'The company of every store, deleted ones included.';

alter table sign_ins add column company_id uuid;
update sign_ins set company_id = stores.company_id from stores where stores.id = sign_ins.store_id;
alter table sign_ins alter column company_id set not null;
create index sign_ins_of_company on sign_ins (company_id, created_at, id);
-- With the instant, so that the latest of a customer are read without the others.
create index sign_ins_of_customer_in_order on sign_ins (customer_id, created_at, id) where customer_id is not null;
create index sign_ins_of_identity_in_order on sign_ins (store_id, identity, created_at, id);
drop index sign_ins_of_customer, sign_ins_of_identity, sign_ins_of_store;

create or replace view sign_in_log as
select id, company_id, store_id, customer_id, method, identity, outcome, address, user_agent, created_at, created_at as updated_at,
       1::bigint as version, null::timestamptz as deleted_at
from sign_ins;

alter table customer_tokens add column company_id uuid;
update customer_tokens set company_id = customers.company_id from customers where customers.id = customer_tokens.customer_id;
alter table customer_tokens alter column company_id set not null;
create index customer_tokens_of_company on customer_tokens (company_id, created_at, uuid);
create index customer_tokens_of_customer on customer_tokens (customer_id, created_at, uuid);
create index customer_tokens_revoked on customer_tokens (customer_id, revoked_at) where revoked_at is not null;
drop index customer_tokens_customer_id;

create or replace view session_records as
select customer_tokens.uuid as id, customer_tokens.company_id,
       (select customers.store_id from customers where customers.id = customer_tokens.customer_id) as store_id, customer_tokens.customer_id,
       -- the address is blanked when the customer is erased
       sign_ins.method, nullif(sign_ins.address, '') as address, sign_ins.user_agent, customer_tokens.last_used_at,
       customer_tokens.expires_at, customer_tokens.revoked_at, customer_tokens.created_at,
       coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at) as updated_at,
       (extract(epoch from coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at)) * 1000000)::bigint as version,
       null::timestamptz as deleted_at
from customer_tokens left join sign_ins on sign_ins.id = customer_tokens.uuid;

create or replace view live_sessions as
select customer_tokens.id as number, customer_tokens.customer_id, customer_tokens.expires_at
from customer_tokens join customers on customers.id = customer_tokens.customer_id join stores on stores.id = customers.store_id
where customer_tokens.revoked_at is null and customers.closed_at is null and customers.banned_at is null and stores.deleted_at is null;
comment on view live_sessions is
    'Sessions that are not revoked, of open accounts that are not banned, and of open stores. Whether one has expired is for the reader to tell.';

alter table texts add column company_id uuid;
update texts set company_id = stores.company_id from stores where stores.id = texts.store_id;
alter table texts alter column company_id set not null;
create index texts_of_company on texts (company_id, created_at, id);
create index texts_of_company_by_number on texts (company_id, number, created_at, id) where number is not null;
create index texts_of_number_in_order on texts (store_id, number, created_at, id);
create index texts_age on texts (created_at);
drop index texts_of_number;

create or replace view text_log as
select id, company_id, store_id, number, number_range, country, status, refusal, rule, reason, details, used_at, created_at,
       coalesce(used_at, created_at) as updated_at, 1::bigint as version, null::timestamptz as deleted_at
from texts;

-- Which stores wait for somebody to let their texts go on.
alter table stores add column texts_paused boolean not null generated always as (texts_paused_at is not null) stored;
create index stores_of_company_by_pause on stores (company_id, texts_paused, created_at, id) where deleted_at is null;
