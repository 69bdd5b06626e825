-- Replays are on their own: whoever asks for one wants it made, however the endpoint is doing. They wait in a lane beside what the circuit holds back,
-- and are told apart in flight, where they take no place of the one on trial.

alter table waiting drop constraint waiting_lane_known;
alter table waiting add constraint waiting_lane_known check (lane between 0 and 3);
comment on column waiting.lane is
    '0: the first attempt; 1: retries; 2: behind another one of its chain, not to be claimed yet; 3: replays, and their retries';
update waiting set lane = 3 where replay_of is not null;

create index in_flight_replays on in_flight (subscription_id) where replay_of is not null;
