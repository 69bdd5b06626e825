-- no-transaction
-- How many texts of a store did not arrive within the day and are left out of its conversion.
create index concurrently texts_left_out on texts (store_id, created_at) where left_out;
