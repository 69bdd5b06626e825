-- What the provider of a text reports about it later.
alter table texts
    add column provider text,
    add column provider_message text,
    add column delivery text,
    add column delivery_code text,
    add column delivery_at timestamptz,
    add column unreachable boolean not null default false,
    add column left_out boolean not null default false,
    add constraint texts_delivery_known check (delivery in ('delivered', 'undelivered', 'failed')) not valid,
    add constraint texts_delivery_dated check ((delivery is null) = (delivery_at is null)) not valid,
    drop constraint texts_rule_known,
    add constraint texts_rule_known check (rule in (
        'texts_paused', 'pumping', 'number_format', 'line_type', 'text_countries', 'unreachable_number', 'unproven_number',
        'seconds_between_texts', 'texts_per_number_and_hour', 'texts_per_number_and_day', 'daily_texts_per_number', 'numbers_per_range',
        'unused_codes_per_range', 'numbers_per_address_and_day', 'texts_per_country_and_day', 'unused_codes_per_country',
        'unused_codes_per_store', 'texts_per_day', 'texts_reserved_percent', 'no_provider', 'provider_answers'
    )) not valid;
comment on column texts.provider is 'The provider that took the text, if its receipts are received.';
comment on column texts.provider_message is 'What the provider calls the text in its receipts.';
comment on column texts.delivery is 'delivered: it is on the phone; undelivered: the network did not deliver it; failed: the provider did not send it. Null: nobody has said.';
comment on column texts.delivery_code is 'The error code of the provider.';
comment on column texts.unreachable is 'The provider says that the number cannot receive texts for good.';
comment on column texts.left_out is 'It was to one more stranger and did not arrive, so text_minutes does not count it among what strangers were texted.';

create or replace view text_log as
select id, company_id, store_id, number, number_range, country, status, refusal, rule, reason, details, used_at, created_at,
       coalesce(used_at, created_at) as updated_at, 1::bigint as version, null::timestamptz as deleted_at, provider, delivery, delivery_code,
       delivery_at
from texts;
