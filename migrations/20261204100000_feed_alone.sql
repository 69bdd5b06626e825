-- Every version that works with this schema numbers what it fans out, and reads along by the numbers alone. What orders events from before there
-- was a feed goes: first its index, and with the next version its columns.

drop trigger number_for_earlier_version on outbox;
drop function number_for_earlier_version();
drop index events_in_order;
alter table events alter column place set default 0;
comment on column events.transaction_id is 'No longer read.';
comment on column events.place is 'No longer read.';
update schema_compatibility set at_least = 20261202100000;
