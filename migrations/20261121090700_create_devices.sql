-- The push devices of customers.
create table devices (
    id uuid not null,
    store_id uuid not null,
    customer_id uuid not null,
    platform text not null,
    -- what the platform's push channel knows the device by
    token text not null,
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
