-- The customers of a store, what they sign in with, their push devices, and what the card provider calls them.

create table customers (
    id uuid not null,
    store_id uuid not null,
    name text not null,
    email text,
    -- lower case: the way addresses are compared
    email_key text generated always as (lower(email)) stored,
    email_verified_at timestamptz,
    -- E.164
    phone text,
    phone_verified_at timestamptz,
    title text,
    photo_url text,
    meta jsonb not null default '{}',
    -- Argon2id, PHC string; null for those who never chose one
    password_hash text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    closed_at timestamptz,
    -- when the personal fields of a closed account were blanked
    erased_at timestamptz,
    constraint customers_pkey primary key (id),
    constraint customers_store_id_fkey foreign key (store_id) references stores (id),
    constraint customers_email_verified_is_there check (email_verified_at is null or email is not null),
    constraint customers_phone_verified_is_there check (phone_verified_at is null or phone is not null)
);
-- Only a proven identity belongs to an account. What was merely typed is kept and may stand in several accounts.
create unique index customers_proven_email on customers (store_id, email_key) where email_verified_at is not null and closed_at is null;
create unique index customers_proven_phone on customers (store_id, phone) where phone_verified_at is not null and closed_at is null;
create index customers_email on customers (store_id, email_key) where closed_at is null;
create index customers_phone on customers (store_id, phone) where closed_at is null;
create index customers_to_erase on customers (closed_at) where closed_at is not null and erased_at is null;
comment on table customers is 'End customers of one store.';
comment on column customers.email_verified_at is 'When a code sent to the address, or an identity provider, proved it; null while merely typed.';

-- In the form that every resource is read in.
create view customer_records as
select customers.id, stores.company_id, customers.store_id, customers.name, customers.email, customers.email_verified_at, customers.phone,
       customers.phone_verified_at, customers.title, customers.photo_url, customers.meta, customers.closed_at, customers.created_at,
       customers.updated_at, (extract(epoch from customers.updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at
from customers join stores on stores.id = customers.store_id;
comment on view customer_records is 'Customers, open and closed, with the company they belong to.';

-- What others read of customers, by name, so that the rest may change.
create view customer_identities as
select id, store_id, email_key, email_verified_at, phone, phone_verified_at, closed_at, erased_at from customers;
comment on view customer_identities is 'The email address and the phone number of each account, whether they are proven, and whether the account is closed or erased.';

-- Not a join: the store is looked up for the one customer that is asked for.
create view customer_companies as
    select id, (select company_id from stores where stores.id = customers.store_id) as company_id from customers;
comment on view customer_companies is 'The company of every customer.';

-- Who opens which account with an identity provider.
create table provider_links (
    store_id uuid not null,
    provider text not null,
    -- the provider's own name for the person
    subject text not null,
    customer_id uuid not null,
    linked_at timestamptz not null,
    -- what makes parallel first sign-ins one customer
    constraint provider_links_pkey primary key (store_id, provider, subject),
    constraint provider_links_store_id_fkey foreign key (store_id) references stores (id),
    constraint provider_links_customer_id_fkey foreign key (customer_id) references customers (id),
    -- The settings list the identity providers. A link of one that is no longer listed stays, and signs nobody in.
    constraint provider_links_provider_is_word check (provider ~ '^[a-z][a-z0-9_]{0,39}$')
);
create index provider_links_customer_id on provider_links (customer_id);
comment on table provider_links is 'Whoever is this subject to this provider signs in to this account; dropped when the account is closed.';
comment on column provider_links.provider is
    'The name of the provider with _ in place of -: idp_a. claimed_idp_c: ids taken without proof (providers.idp_c.verification = none), which open nothing that a proven one made.';

-- An identity token can be used for one sign-in only, so that a stolen token cannot be replayed.
create table used_identity_tokens (
    store_id uuid not null,
    -- SHA-256 of the signed part of the token, without the signature: every ECDSA signature has a second valid form
    digest bytea not null,
    -- the instant from which the token is too old to be accepted
    expires_at timestamptz not null,
    -- only one of several parallel requests with the same token can sign in
    constraint used_identity_tokens_pkey primary key (store_id, digest),
    constraint used_identity_tokens_store_id_fkey foreign key (store_id) references stores (id)
);
create index used_identity_tokens_expires_at on used_identity_tokens (expires_at);
comment on table used_identity_tokens is 'Identity tokens that have signed somebody in. Rows past expires_at mean nothing and are swept.';

-- The push devices of customers. Push tokens are encrypted at rest, like other secrets.
create table devices (
    id uuid not null,
    store_id uuid not null,
    customer_id uuid not null,
    platform text not null,
    sealed_token bytea not null,
    -- SHA-256 of the token, which may be longer than an index entry
    token_digest bytea not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint devices_pkey primary key (id),
    -- a token moves to the customer who registered it last
    constraint devices_token_key unique (store_id, token_digest),
    constraint devices_store_id_fkey foreign key (store_id) references stores (id),
    constraint devices_customer_id_fkey foreign key (customer_id) references customers (id),
    constraint devices_platform_known check (platform in ('ios', 'android', 'web'))
);
create index devices_customer_id on devices (customer_id);
comment on table devices is 'Devices that push notifications for a customer go to.';
comment on column devices.sealed_token is
    'What the platform''s push channel knows the device by, encrypted under the application key for this row alone.';

-- What the card provider calls our customers.
create table card_customers (
    customer_id uuid not null,
    gateway_id uuid not null,
    -- sent with the request that creates the customer there: whoever repeats it makes no second one
    idempotency_key text not null,
    -- null until the provider has answered
    provider_id text,
    created_at timestamptz not null,
    constraint card_customers_pkey primary key (customer_id, gateway_id),
    constraint card_customers_customer_id_fkey foreign key (customer_id) references customers (id),
    constraint card_customers_gateway_id_fkey foreign key (gateway_id) references gateways (id)
);
-- Callbacks name a customer the way the gateway does.
create index card_customers_provider_id on card_customers (gateway_id, provider_id);
comment on table card_customers is 'Customers at the card provider: one for each of ours and each gateway.';
comment on column card_customers.provider_id is 'Their id at the provider; taken back when the provider no longer knows it.';

create view card_payers as select gateway_id, provider_id, customer_id from card_customers;
comment on view card_payers is 'The customers as card gateways name them; provider_id is null until the provider has created the record.';
