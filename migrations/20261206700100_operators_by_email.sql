-- no-transaction
-- Somebody who signs in, or has forgotten their password, is found by their address alone, in all companies.
create index concurrently if not exists operators_by_email on operators (email) where deleted_at is null;
