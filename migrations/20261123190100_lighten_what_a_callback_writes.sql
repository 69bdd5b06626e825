-- Every callback writes an entry into each of these indexes, so one index serves both uniqueness and the lists: a company has few records
-- with the same key or transaction, and they are sorted when they are read.
drop index callbacks_of_company_by_key;
drop index callbacks_once;
-- The gateway is null for refused callbacks, which may be repeated.
create unique index callbacks_once on callbacks (company_id, key, (case when status <> 'refused' then gateway_id end));

drop index payments_of_company_by_transaction;
alter table payments
    drop constraint payments_transaction_key,
    add constraint payments_transaction_key unique (company_id, transaction_id, gateway_id);

-- A callback is recorded with the id and the company of a gateway that was read. Both stay: a gateway is never deleted, only marked as deleted,
-- and never moves to another company. Enforcing that here costs nothing; a foreign key would look up, and lock, the gateway for each callback.
create function refuse_to_move_a_gateway() returns trigger language plpgsql as $$
begin
    raise exception 'a gateway keeps its id and company, and is never deleted' using errcode = 'restrict_violation';
end
$$;
comment on function refuse_to_move_a_gateway is 'Callbacks and payments name their gateway without a foreign key.';
create trigger gateways_stay before delete on gateways for each row execute function refuse_to_move_a_gateway();
create trigger gateways_keep_their_company before update on gateways
    for each row when ((old.id, old.company_id) is distinct from (new.id, new.company_id)) execute function refuse_to_move_a_gateway();

alter table callbacks drop constraint callbacks_gateway_fkey;
-- Nothing else refers to it.
alter table gateways drop constraint gateways_company_key;
comment on column callbacks.gateway_id is 'The gateway that signed the callback or, if it was refused, the one it was sent for. No foreign key: see the trigger gateways_stay.';
