-- Whoever adds to what is told of a payment has read what was told before, and says so by the numbers of the new facts. Of two that do so
-- at the same moment one finds its number taken, and reads again; so no row is locked while anybody thinks.
alter table payment_facts add column sequence integer;
update payment_facts set sequence = numbered.sequence
from (
    select callback_id, position, row_number() over (partition by payment_id order by recorded_at, callback_id, position) as sequence
    from payment_facts
) as numbered
where payment_facts.callback_id = numbered.callback_id and payment_facts.position = numbered.position;
alter table payment_facts
    alter column sequence set not null,
    add constraint payment_facts_sequence_key unique (payment_id, sequence),
    -- a fact is written by the statement that writes its callback and its payment, and neither ever goes
    drop constraint payment_facts_callback_id_fkey,
    drop constraint payment_facts_payment_id_fkey;
drop index payment_facts_of_payment;
comment on column payment_facts.sequence is '1, 2, 3 … among the facts about the payment, in the order in which they were told.';

-- A callback belongs to the company of its gateway, which is looked at once; a payment belongs to the gateway of its callbacks.
alter table gateways add constraint gateways_company_key unique (id, company_id);
alter table callbacks
    drop constraint callbacks_company_id_fkey,
    drop constraint callbacks_gateway_id_fkey,
    add constraint callbacks_gateway_fkey foreign key (gateway_id, company_id) references gateways (id, company_id);
alter table payments drop constraint payments_company_id_fkey, drop constraint payments_gateway_id_fkey;
