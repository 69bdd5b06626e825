-- A test event is for one subscription and no other, whoever reads along or repeats it.

alter table events add column addressed_to uuid;
comment on column events.addressed_to is 'The only subscription it is for: a test. Written in the transaction that publishes it.';
comment on table events is 'Everything that happened, written in the transaction that made it happen; never changed after that. Partitioned by day.';
-- A webhook.test is about its webhook. Samples that were sent before this cannot be told from what really happened.
update events set addressed_to = subject_id where name = 'webhook.test';
