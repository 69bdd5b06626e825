-- A gateway's id may be that of a transaction, about which it calls several times.
alter table callbacks add column variant text;
comment on column callbacks.variant is 'What tells callbacks with the same key apart, such as type and status in the words of the gateway; null in those that were recorded before it was.';
