-- A test event is for one subscription and no other, whoever reads along or repeats it.

alter table events add column addressed_to uuid;
comment on column events.addressed_to is 'The only subscription it is for: a test. Written in the transaction that publishes it.';
