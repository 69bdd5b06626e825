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
comment on table card_customers is 'Customers at the card provider: one for each of ours and each gateway.';
comment on column card_customers.provider_id is 'Their id at the provider; taken back when the provider no longer knows it.';
