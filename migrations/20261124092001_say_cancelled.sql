-- What is not sent any more is cancelled, here as everywhere else.

alter table in_flight rename column called_off to cancelled;
comment on column in_flight.cancelled is 'Cancelled meanwhile: it may still arrive, but is not repeated.';

alter table endpoints rename column called_off_before to cancelled_before;
alter index endpoints_called_off rename to endpoints_cancelled;
comment on column endpoints.cancelled_before is
    'What waits with a lesser place is cancelled, and while there may be any of it, nothing of the endpoint is claimed. Null: nothing is.';

-- Who brings a delivery into a chain, or takes one out of it, holds the row of the endpoint: so each of them sees what the one before has done. What
-- is cancelled is closed without that, but nobody waits behind it any more.
create or replace function let_the_head_go_ahead() returns trigger language plpgsql as $$
declare
    moved record := coalesce(new, old);
begin
    update waiting set lane = case when attempts = 0 then 0 else 1 end
    where lane = 2
    and id = (
        select id from waiting
        where subscription_id = moved.subscription_id and chain = moved.chain
        and place >= coalesce((select cancelled_before from endpoints where endpoints.subscription_id = moved.subscription_id), 0)
        order by sequence limit 1
    )
    and not exists (select from in_flight where subscription_id = moved.subscription_id and chain = moved.chain);
    return null;
end
$$;
