-- no-transaction
-- How many texts a solved challenge alone let through within the day.
create index concurrently texts_sent_by_challenge on texts (store_id, created_at) where by_challenge and status = 'sent';
