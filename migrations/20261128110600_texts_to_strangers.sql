-- What the guard counts of a text.

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
comment on table texts is 'Every text the SMS guard let through or refused: its log, and what it looks back at for a number, a range and a client address.';
comment on column texts.details is 'What the rule saw: limit, seen and until of a limit; scope, name, paused_at, paused_until and paused_reason of a pause, and texted and used where it began; providers and their answers.';
