-- From where a customer has signed in before.

create table known_clients (
    customer_id uuid not null,
    client bytea not null,
    store_id uuid not null,
    last_seen_at timestamptz not null,
    constraint known_clients_pkey primary key (customer_id, client),
    constraint known_clients_customer_id_fkey foreign key (customer_id) references customers (id),
    constraint known_clients_store_id_fkey foreign key (store_id) references stores (id)
);
create index known_clients_last_seen_at on known_clients (last_seen_at);
comment on table known_clients is 'Clients that a customer has signed in from: strangers who guess do not lock them out.';
comment on column known_clients.client is 'SHA-256 of the network and the user agent.';
