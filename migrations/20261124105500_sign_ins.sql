-- The tokens customers are signed in with, and the audit of sign-ins.
--
-- A sign-in tells how and from where it was made. The audit knows: its entry is written with the token, and under the token's uuid. So neither table
-- needs a column, an index or a foreign key to find the other, and whatever forgets or blanks entries need not know of tokens. A token that outlives
-- its entry tells none of it.

create table customer_tokens (
    -- the decimal number in front of the bar
    id bigint generated always as identity,
    uuid uuid not null,
    customer_id uuid not null,
    -- SHA-256 of the part behind the bar
    digest bytea not null,
    created_at timestamptz not null,
    -- written at most every few minutes
    last_used_at timestamptz not null,
    expires_at timestamptz not null,
    revoked_at timestamptz,
    constraint customer_tokens_pkey primary key (id),
    constraint customer_tokens_uuid_key unique (uuid),
    constraint customer_tokens_customer_id_fkey foreign key (customer_id) references customers (id)
);
create index customer_tokens_customer_id on customer_tokens (customer_id) where revoked_at is null;
-- A sign-in that ended is shown as long as the audit is kept, and then forgotten: this is how those are found.
create index customer_tokens_ended on customer_tokens (least(expires_at, revoked_at));
comment on table customer_tokens is 'Personal access tokens; each is one signed-in device.';
comment on column customer_tokens.uuid is 'What operators name the sign-in by; the id of its entry in the audit.';

create table sign_ins (
    id uuid not null,
    store_id uuid not null,
    customer_id uuid,
    method text not null,
    -- as it was typed, in its one spelling; blanked when the customer is erased
    identity text,
    -- signed_in, or the code of the problem it was refused with
    outcome text not null,
    address text not null,
    user_agent text,
    created_at timestamptz not null,
    constraint sign_ins_pkey primary key (id),
    constraint sign_ins_store_id_fkey foreign key (store_id) references stores (id),
    constraint sign_ins_customer_id_fkey foreign key (customer_id) references customers (id)
);
create index sign_ins_of_store on sign_ins (store_id, created_at, id);
create index sign_ins_of_customer on sign_ins (customer_id);
create index sign_ins_age on sign_ins (created_at);
-- Who tried to sign in with an identity: how the refused sign-ins of a customer who is erased are found.
create index sign_ins_of_identity on sign_ins (store_id, identity);
comment on table sign_ins is 'Who signed in how and from where, and what was refused; never a code, a token or a password. Kept 90 days.';

-- Both in the form that every resource is read in.
create view session_records as
select customer_tokens.uuid as id, stores.company_id, customers.store_id, customer_tokens.customer_id,
       -- the address is blanked when the customer is erased
       sign_ins.method, nullif(sign_ins.address, '') as address, sign_ins.user_agent, customer_tokens.last_used_at,
       customer_tokens.expires_at, customer_tokens.revoked_at, customer_tokens.created_at,
       coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at) as updated_at,
       (extract(epoch from coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at)) * 1000000)::bigint as version,
       null::timestamptz as deleted_at
from customer_tokens join customers on customers.id = customer_tokens.customer_id join stores on stores.id = customers.store_id
     left join sign_ins on sign_ins.id = customer_tokens.uuid;
comment on view session_records is 'Sign-ins of customers without what they are proven by.';

create view live_sessions as
select customer_tokens.id as number, customer_tokens.customer_id, customer_tokens.expires_at
from customer_tokens join customers on customers.id = customer_tokens.customer_id join stores on stores.id = customers.store_id
where customer_tokens.revoked_at is null and customers.closed_at is null and stores.deleted_at is null;
comment on view live_sessions is 'Sessions that are not revoked, of open accounts and stores. Whether one has expired is for the reader to tell.';

create view sign_in_log as
select sign_ins.id, stores.company_id, sign_ins.store_id, sign_ins.customer_id, sign_ins.method, sign_ins.identity, sign_ins.outcome,
       sign_ins.address, sign_ins.user_agent, sign_ins.created_at, sign_ins.created_at as updated_at, 1::bigint as version,
       null::timestamptz as deleted_at
from sign_ins join stores on stores.id = sign_ins.store_id;
comment on view sign_in_log is 'The audit of sign-ins with the company it belongs to.';
