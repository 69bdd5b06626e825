-- A company can be suspended: its keys are refused and its deliveries are held. Only then can it be deleted.

alter table companies add column suspended_at timestamptz;
comment on column companies.suspended_at is 'Since when its keys are refused and its deliveries are held.';

create or replace function refuse_to_move_a_gateway() returns trigger language plpgsql as $$
begin
    -- With its company goes everything that names it.
    if tg_op = 'DELETE' and exists (select from companies where id = old.company_id and suspended_at is not null)
        and not exists (select from callbacks where company_id = old.company_id)
        and not exists (select from payments where company_id = old.company_id)
    then
        return old;
    end if;
    raise exception 'a gateway keeps its id and company, and is never deleted' using errcode = 'restrict_violation';
end
$$;

-- Who resumes a company goes on holding what its paused webhooks hold.
create or replace view subscription_endpoints as
select id as subscription_id, company_id, version, url, sealed_headers, signature_format, timeout, rate_limit, sealed_secret,
       sealed_previous_secret, previous_secret_until, deleted_at, paused_at
from subscriptions;
