-- Events that are published from now on are read in the order of their feed. The id of a transaction only orders those from before there was a feed,
-- behind all of which the others are.

alter table events alter column transaction_id set default '9223372036854775807';
comment on column events.transaction_id is 'Orders the events from before there was a feed (place: within a transaction). All others have the same value, which is greater.';
