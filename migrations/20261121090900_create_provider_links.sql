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
    constraint provider_links_provider_known check (provider in ('idp_a', 'idp_b', 'idp_c', 'claimed_idp_c'))
);
create index provider_links_customer_id on provider_links (customer_id);
comment on table provider_links is 'Whoever is this subject to this provider signs in to this account; dropped when the account is closed.';
comment on column provider_links.provider is 'claimed_idp_c: ids taken without proof (providers.idp_c.verification = none), which open nothing that a proven one made.';
