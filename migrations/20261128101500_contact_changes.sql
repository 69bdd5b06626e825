-- Changes of proven contacts, which the owner of the old one can take back for some days.

create table contact_changes (
    id uuid not null,
    store_id uuid not null,
    customer_id uuid not null,
    -- HMAC under the application key over the code
    digest bytea not null,
    -- the keys of the proven contacts from before the change, which the code was sent to
    sent_to text[] not null,
    -- both contacts as they were
    email text,
    email_verified_at timestamptz,
    phone text,
    phone_verified_at timestamptz,
    changed_at timestamptz not null,
    expires_at timestamptz not null,
    constraint contact_changes_pkey primary key (id),
    constraint contact_changes_store_id_fkey foreign key (store_id) references stores (id),
    constraint contact_changes_customer_id_fkey foreign key (customer_id) references customers (id)
);
-- A code is looked up by its digest, which nobody makes without the application key.
create unique index contact_changes_digest on contact_changes (store_id, digest);
create index contact_changes_customer_id on contact_changes (customer_id);
create index contact_changes_expires_at on contact_changes (expires_at);
comment on table contact_changes is 'Changes of proven contacts that can still be taken back; deleted once taken back or too old.';
