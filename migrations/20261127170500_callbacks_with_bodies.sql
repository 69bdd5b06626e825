-- no-transaction
-- What comes is appended to it, so it costs a callback little.
create index concurrently callbacks_with_bodies on callbacks (created_at) where status <> 'refused' and body_erased_at is null;
