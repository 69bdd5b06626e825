-- no-transaction
-- What a client address asked to be texted to strangers within a day.
create index concurrently texts_asked_from on texts (store_id, asked_from, created_at) where to_stranger and status = 'sent';
