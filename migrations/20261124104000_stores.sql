-- Shops and the publishable keys their apps carry.

create table stores (
    id uuid not null,
    company_id uuid not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    name text not null,
    -- the SMS guard's settings of this store
    text_countries text[] not null default '{}',
    seconds_between_texts integer not null default 30,
    texts_per_number_and_hour integer not null default 6,
    texts_per_number_and_day integer not null default 12,
    numbers_per_range integer not null default 20,
    texts_per_day integer not null default 1000,
    texts_paused_at timestamptz,
    texts_paused_reason text,
    -- What the guard has seen before somebody lifted its pause is no reason for the next one.
    texts_resumed_at timestamptz,
    constraint stores_pkey primary key (id),
    constraint stores_company_id_fkey foreign key (company_id) references companies (id),
    constraint stores_name_present check (name <> ''),
    constraint stores_pause_explained check ((texts_paused_at is null) = (texts_paused_reason is null)),
    constraint stores_limits_positive check (least(seconds_between_texts, texts_per_number_and_hour, texts_per_number_and_day, numbers_per_range, texts_per_day) >= 0)
);
create index stores_of_company on stores (company_id, created_at, id);
comment on table stores is 'A shop of a company; customers belong to exactly one.';
comment on column stores.text_countries is 'ISO 3166 codes texts may go to; empty means every country.';
comment on column stores.numbers_per_range is 'Different numbers that differ in their last four digits only and may be texted within ten minutes.';
comment on column stores.texts_resumed_at is 'When a pause was lifted last; SMS pumping is looked for in what was texted since.';

create table store_keys (
    id uuid not null,
    store_id uuid not null,
    -- SHA-256 of the whole key
    digest bytea not null,
    created_at timestamptz not null,
    revoked_at timestamptz,
    constraint store_keys_pkey primary key (id),
    constraint store_keys_digest_key unique (digest),
    constraint store_keys_store_id_fkey foreign key (store_id) references stores (id)
);
create index store_keys_store_id on store_keys (store_id);
comment on table store_keys is 'Keys that tell which store an app belongs to; a store may have several, each revocable by itself.';
