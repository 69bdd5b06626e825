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

alter table texts
    add column asked_from text,
    add column to_stranger boolean not null default false,
    add column to_new_number boolean not null default false,
    add column tallied boolean not null default true,
    drop constraint texts_rule_known,
    add constraint texts_rule_known check (rule in (
        'texts_paused', 'pumping', 'number_format', 'line_type', 'text_countries', 'unproven_number',
        'seconds_between_texts', 'texts_per_number_and_hour', 'texts_per_number_and_day', 'daily_texts_per_number', 'numbers_per_range',
        'unused_codes_per_range', 'numbers_per_address_and_day', 'texts_per_country_and_day', 'unused_codes_per_country',
        'unused_codes_per_store', 'texts_per_day', 'texts_reserved_percent', 'no_provider', 'provider_answers'
    )) not valid;
comment on column texts.asked_from is 'The network of the client that asked for it (IPv4: the address, IPv6: its /64). Blanked with the number.';
comment on column texts.to_stranger is 'No account of the store had proven the number.';
comment on column texts.to_new_number is 'The store had not texted the number within the day before: only then it counts as one more stranger.';
comment on column texts.tallied is 'False since its code was used or it was given back, until text_minutes has heard of it.';

-- The budget of the day goes on.
insert into text_minutes (store_id, country, minute, sent, strangers, used)
select store_id, country, date_trunc('minute', created_at), count(*), 0, 0
from texts where status = 'sent' and created_at > now() - interval '1 day' and country is not null
group by 1, 2, 3;

-- A customer who asks for codes to several numbers in turn gets one a minute for each, and uses the one that was asked for last.
alter table verification_codes add column superseded boolean not null default false;
comment on column verification_codes.superseded is 'The customer who requested it has asked for a code to another number or address since. It still says when that number was texted.';
comment on table texts is 'Every text the SMS guard let through or refused: its log, and what it looks back at for a number, a range and a client address.';
comment on column texts.details is 'What the rule saw: limit, seen and until of a limit; scope, name, paused_at, paused_until and paused_reason of a pause, and texted and used where it began; providers and their answers.';
