-- A stolen token must not become the account: what would lock its owner out asks for a fresh proof of the same session.

alter table customer_tokens add column proven_at timestamptz;
comment on column customer_tokens.proven_at is
    'When the customer last proved, in this session, who they are: by a code or the password. Null while nothing followed the sign-in, which is a proof.';

alter table customer_tokens add column device_name text;
comment on column customer_tokens.device_name is 'What the customer or the app calls the device; null if neither did.';

create or replace view session_records as
select customer_tokens.uuid as id, customer_tokens.company_id,
       (select customers.store_id from customers where customers.id = customer_tokens.customer_id) as store_id, customer_tokens.customer_id,
       -- the address is blanked when the customer is erased
       sign_ins.method, nullif(sign_ins.address, '') as address, sign_ins.user_agent, customer_tokens.last_used_at,
       customer_tokens.expires_at, customer_tokens.revoked_at, customer_tokens.created_at,
       coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at) as updated_at,
       (extract(epoch from coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at)) * 1000000)::bigint as version,
       null::timestamptz as deleted_at, customer_tokens.device_name
from customer_tokens left join sign_ins on sign_ins.id = customer_tokens.uuid;
