-- What the SMS guard counts, and what it has learnt from that.

-- The pause of an operator stands in the store itself. These are the guard's own.
create table text_pauses (
    id uuid not null,
    company_id uuid not null,
    store_id uuid not null,
    scope text not null,
    -- the number range or the country; empty if it is the whole store
    name text not null,
    -- how many pauses followed each other: the next one is longer
    level smallint not null,
    -- the codes that were judged, and how many of them were used
    texted bigint not null,
    used bigint not null,
    reason text not null,
    paused_at timestamptz not null,
    paused_until timestamptz not null,
    -- when an operator ended it, or when it had ended by itself; null until somebody was told
    ended_at timestamptz,
    -- when the operators are mailed about it, or tried again; null once they were
    mail_due_at timestamptz,
    mail_failures smallint not null default 0,
    constraint text_pauses_pkey primary key (id),
    constraint text_pauses_latest unique (store_id, scope, name),
    constraint text_pauses_store_id_fkey foreign key (store_id) references stores (id),
    constraint text_pauses_scope_known check (scope in ('range', 'country', 'store')),
    constraint text_pauses_named check ((name = '') = (scope = 'store'))
);
create index text_pauses_of_company on text_pauses (company_id, paused_at);
create index text_pauses_open on text_pauses (paused_until) where ended_at is null;
create index text_pauses_mails on text_pauses (mail_due_at) where mail_due_at is not null;
create index text_pauses_age on text_pauses (paused_until) where ended_at is not null;
comment on table text_pauses is 'The latest pause of a range, a country or a store by the SMS guard. It stays a while after its end, because the next one is longer.';

create table text_minutes (
    store_id uuid not null,
    -- ISO 3166 code
    country text not null,
    minute timestamptz not null,
    sent integer not null,
    -- strangers who were texted for the first time in a day, and how many codes strangers used
    strangers integer not null,
    used integer not null,
    constraint text_minutes_pkey primary key (store_id, country, minute),
    constraint text_minutes_store_id_fkey foreign key (store_id) references stores (id)
);
create index text_minutes_age on text_minutes (minute);
comment on table text_minutes is 'Texts that were counted as sent, by the minute, so that nobody has to count the texts of a day. A text that was used or given back later is counted in the minute in which it was sent.';

-- Locked by whoever judges texts of the store, for that moment: no provider is asked meanwhile.
create table text_guards (
    store_id uuid not null,
    judged_at timestamptz not null,
    constraint text_guards_pkey primary key (store_id),
    constraint text_guards_store_id_fkey foreign key (store_id) references stores (id)
);
comment on table text_guards is 'One row for each store that has sent texts. Who holds it judges the texts of this store.';
