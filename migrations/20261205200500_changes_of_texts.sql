-- What a provider reports of a text is a change of it, too.
create or replace view text_log as
select id, company_id, store_id, number, number_range, country, status, refusal, rule, reason, details, used_at, created_at,
       greatest(created_at, used_at, delivery_at) as updated_at, 1::bigint as version, null::timestamptz as deleted_at, provider, delivery,
       delivery_code, delivery_at
from texts;
