-- The customers of a store and the tokens they are signed in with.
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

create table customer_tokens (
    -- the decimal number in front of the bar
    id bigint generated always as identity,
    -- what operators name the sign-in by
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
comment on table customer_tokens is 'Personal access tokens; each is one signed-in device.';
