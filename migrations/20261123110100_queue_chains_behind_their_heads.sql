-- Of a chain only the head can be claimed: the first of it, from the same lanes as any other delivery. Those behind it are in a lane that nobody
-- claims from, and step forward one by one, whatever ends the one before.

alter table waiting drop constraint waiting_in_chain;
alter table waiting add constraint waiting_in_chain check (lane <> 2 or chain is not null);
comment on column waiting.lane is '0: the first attempt; 1: retries and replays; 2: behind another one of its chain, not to be claimed yet';

-- Who brings a delivery into a chain, or takes one out of it, holds the row of the endpoint: so each of them sees what the one before has done. What
-- is called off is closed without that, but nobody waits behind it any more.
create function let_the_head_go_ahead() returns trigger language plpgsql as $$
declare
    moved record := coalesce(new, old);
begin
    update waiting set lane = case when attempts = 0 then 0 else 1 end
    where lane = 2
    and id = (
        select id from waiting
        where subscription_id = moved.subscription_id and chain = moved.chain
        and place >= coalesce((select called_off_before from endpoints where endpoints.subscription_id = moved.subscription_id), 0)
        order by sequence limit 1
    )
    and not exists (select from in_flight where subscription_id = moved.subscription_id and chain = moved.chain);
    return null;
end
$$;
comment on function let_the_head_go_ahead is 'Lets the first of a chain be claimed, unless one of them is in flight.';

create trigger joins_a_chain after insert on waiting for each row when (new.lane = 2) execute function let_the_head_go_ahead();
create trigger leaves_a_chain after delete on waiting for each row when (old.lane < 2 and old.chain is not null)
    execute function let_the_head_go_ahead();
create trigger leaves_a_chain after delete on in_flight for each row when (old.chain is not null) execute function let_the_head_go_ahead();

-- Until now all of a chain waited in one lane.
update waiting set lane = 1 where lane = 2 and attempts > 0;
update waiting set lane = 0
from (select distinct on (subscription_id, chain) id from waiting left join endpoints using (subscription_id)
      where chain is not null and place >= coalesce(called_off_before, 0)
      order by subscription_id, chain, sequence) as head
where waiting.id = head.id and lane = 2
and not exists (select from in_flight where in_flight.subscription_id = waiting.subscription_id and in_flight.chain = waiting.chain);
