-- A store that opens expects many strangers at once, before any code was used.
alter table stores
    add column opening_until timestamptz,
    add column opening_texts integer not null default 500;
alter table stores add constraint stores_opening_texts_positive check (opening_texts >= 0) not valid;
comment on column stores.opening_until is 'Until then opening_texts codes of strangers may be under way in a country and altogether, where these have not been paused lately.';
comment on column stores.opening_texts is 'It only raises unused_codes_per_country and unused_codes_per_store for codes under way; from which number on their use is judged stays.';
