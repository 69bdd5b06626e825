-- no-transaction
create index concurrently endpoints_held on endpoints (held_until) where held_until is not null;
