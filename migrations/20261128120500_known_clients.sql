-- Who asked for a code, and from where a customer has signed in before.

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

alter table verification_codes add column asked_by bytea;
comment on column verification_codes.asked_by is
    'SHA-256 of the network, the user agent and the store key of the client that asked for the code: only that client is told how the code stands.';

alter table used_identity_tokens add column used_at timestamptz;
alter table used_identity_tokens add column client bytea;
alter table used_identity_tokens add column customer_id uuid;
alter table used_identity_tokens add column session bigint;
alter table used_identity_tokens add column repeats integer not null default 0;
comment on column used_identity_tokens.used_at is 'When the token signed somebody in. Null: before this was recorded.';
comment on column used_identity_tokens.client is 'The client that presented it, as in known_clients: it may present the token again for a minute.';
comment on column used_identity_tokens.customer_id is 'Whom it signed in.';
comment on column used_identity_tokens.session is 'The number of the session that it opened.';
comment on column used_identity_tokens.repeats is 'How often it was presented again.';
