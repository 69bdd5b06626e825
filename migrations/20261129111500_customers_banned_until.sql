-- no-transaction
-- The bans that end by themselves.
create index concurrently if not exists customers_banned_until on customers (banned_until) where banned_until is not null;
