-- A sign-in tells how and from where it was made. The audit knows: its entry is written with the token, and from now on under the token's uuid.
-- So neither table needs a column, an index or a foreign key to find the other, and whatever forgets or blanks entries need not know of tokens.
-- A token that outlives its entry, or was issued before, tells none of it.
comment on column customer_tokens.uuid is 'What operators name the sign-in by; the id of its entry in the audit.';

create or replace view session_records as
select customer_tokens.uuid as id, stores.company_id, customers.store_id, customer_tokens.customer_id, customer_tokens.last_used_at,
       customer_tokens.expires_at, customer_tokens.revoked_at, customer_tokens.created_at,
       coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at) as updated_at,
       (extract(epoch from coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at)) * 1000000)::bigint as version,
       null::timestamptz as deleted_at,
       -- the address is blanked when the customer is erased
       sign_ins.method, nullif(sign_ins.address, '') as address, sign_ins.user_agent
from customer_tokens join customers on customers.id = customer_tokens.customer_id join stores on stores.id = customers.store_id
     left join sign_ins on sign_ins.id = customer_tokens.uuid;
