-- What waits for an endpoint with an open circuit is put aside, out of the lanes, so that claims visit only endpoints they can take something for.

alter table waiting drop constraint waiting_lane_known;
alter table waiting add constraint waiting_lane_known check (lane between 0 and 4) not valid;
comment on column waiting.lane is
    '0: the first attempt; 1: retries; 2: behind another one of its chain, not to be claimed yet; 3: replays, and their retries; 4: held, because the circuit of the endpoint is open';

alter table endpoints add column held_until timestamptz;
comment on column endpoints.held_until is 'Deliveries are held, and somebody looks then whether they may go on. Null: none are.';

-- The head of a chain can be held when it is cancelled.
create or replace trigger leaves_a_chain after delete on waiting for each row when (old.lane <> 2 and old.chain is not null)
    execute function let_the_head_go_ahead();
