-- no-transaction
-- What a range was texted within a day, and what was used of it.
create index concurrently texts_sent_to_range on texts (store_id, number_range, created_at) where status = 'sent';
