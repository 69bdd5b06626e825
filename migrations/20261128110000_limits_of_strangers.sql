-- What a shop lets strangers cost it: people whose number no account of the shop has proven yet.
alter table stores
    add column numbers_per_address_and_day integer not null default 10,
    add column texts_per_country_and_day integer not null default 1000,
    add column texts_reserved_percent integer not null default 30,
    add column unused_codes_per_range integer not null default 5,
    add column unused_codes_per_country integer not null default 10,
    add column unused_codes_per_store integer not null default 50,
    add column used_codes_percent integer not null default 20;
alter table stores add constraint stores_limits_of_strangers_positive check (least(
    numbers_per_address_and_day, texts_per_country_and_day, texts_reserved_percent, unused_codes_per_range, unused_codes_per_country,
    unused_codes_per_store, used_codes_percent
) >= 0) not valid;
alter table stores add constraint stores_percents_sensible check (greatest(texts_reserved_percent, used_codes_percent) <= 100) not valid;
comment on column stores.numbers_per_address_and_day is 'Different numbers of strangers whose codes were not used, beyond those that were, for one client address (IPv6: /64).';
comment on column stores.texts_reserved_percent is 'The share of texts_per_day that strangers leave to customers whose number is proven.';
comment on column stores.unused_codes_per_range is 'Codes of strangers that may be unused before what was used of them is judged, and at once beyond those that were used. Likewise for a country and for the store.';
comment on column stores.used_codes_percent is 'Strangers are no longer texted if they use fewer of their codes.';
comment on column stores.texts_resumed_at is 'When an operator last ended a pause.';
