-- The reason why a text was not sent: the rule that refused it and the values it decided on, or the errors of the providers.
alter table texts add column rule text;
alter table texts add column reason text;
alter table texts add column details jsonb;
comment on column texts.refusal is 'The problem code that the request was answered with, where no mail took the place of the text.';
comment on column texts.rule is 'Which rule refused the text; a limit has the name of the setting of the store.';
comment on column texts.reason is 'The same in a sentence for operators.';
comment on column texts.details is 'What the rule saw: limit, seen and until of a limit; texted and used of a pause by the guard; paused_at and paused_reason; providers and their answers.';

-- Texts that no provider accepted have a reason too. Rows from before this version have none.
alter table texts drop constraint texts_refusal_explained;
alter table texts add constraint texts_refusal_explained check (
    case status when 'sent' then refusal is null when 'refused' then refusal is not null else true end
);
alter table texts add constraint texts_rule_known check (rule in (
    'texts_paused', 'pumping', 'number_format', 'line_type', 'text_countries', 'unproven_number', 'seconds_between_texts',
    'texts_per_number_and_hour', 'texts_per_number_and_day', 'numbers_per_range', 'texts_per_day', 'no_provider', 'provider_answers'
));
alter table texts add constraint texts_rule_explained check (rule is null or (refusal is not null and reason is not null));

-- A text to an invalid number is refused too, and has no range.
alter table texts alter column number_range drop not null;
comment on column texts.number is 'E.164; null where no number could be read, and once the account it belonged to is erased. The range stays, for the conversion of ranges.';

create or replace view text_log as
select texts.id, stores.company_id, texts.store_id, texts.number, texts.number_range, texts.country, texts.status, texts.refusal,
       texts.used_at, texts.created_at, coalesce(texts.used_at, texts.created_at) as updated_at, 1::bigint as version,
       null::timestamptz as deleted_at, texts.rule, texts.reason, texts.details
from texts join stores on stores.id = texts.store_id;
