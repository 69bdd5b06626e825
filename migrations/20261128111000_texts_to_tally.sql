-- no-transaction
-- What text_minutes has not heard of yet.
create index concurrently texts_to_tally on texts (store_id) where not tallied;
