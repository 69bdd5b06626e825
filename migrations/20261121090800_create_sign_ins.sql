-- The audit of sign-ins, and the storefront's records in the form that every resource is read in.
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
comment on table sign_ins is 'Who signed in how and from where, and what was refused; never a code, a token or a password. Kept 90 days.';

create view sign_in_log as
select sign_ins.id, stores.company_id, sign_ins.store_id, sign_ins.customer_id, sign_ins.method, sign_ins.identity, sign_ins.outcome,
       sign_ins.address, sign_ins.user_agent, sign_ins.created_at, sign_ins.created_at as updated_at, 1::bigint as version,
       null::timestamptz as deleted_at
from sign_ins join stores on stores.id = sign_ins.store_id;
comment on view sign_in_log is 'The audit of sign-ins with the company it belongs to.';

create view text_log as
select texts.id, stores.company_id, texts.store_id, texts.number, texts.number_range, texts.country, texts.status, texts.refusal,
       texts.used_at, texts.created_at, coalesce(texts.used_at, texts.created_at) as updated_at, 1::bigint as version,
       null::timestamptz as deleted_at
from texts join stores on stores.id = texts.store_id;
comment on view text_log is 'Every text the SMS guard let through or refused, with the company it belongs to.';

create view customer_records as
select customers.id, stores.company_id, customers.store_id, customers.name, customers.email, customers.email_verified_at, customers.phone,
       customers.phone_verified_at, customers.title, customers.photo_url, customers.meta, customers.closed_at, customers.created_at,
       customers.updated_at, (extract(epoch from customers.updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at
from customers join stores on stores.id = customers.store_id;
comment on view customer_records is 'Customers, open and closed, with the company they belong to.';

create view session_records as
select customer_tokens.uuid as id, stores.company_id, customers.store_id, customer_tokens.customer_id, customer_tokens.last_used_at,
       customer_tokens.expires_at, customer_tokens.revoked_at, customer_tokens.created_at,
       coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at) as updated_at,
       (extract(epoch from coalesce(customer_tokens.revoked_at, customer_tokens.last_used_at)) * 1000000)::bigint as version,
       null::timestamptz as deleted_at
from customer_tokens join customers on customers.id = customer_tokens.customer_id join stores on stores.id = customers.store_id;
comment on view session_records is 'Sign-ins of customers without what they are proven by.';
