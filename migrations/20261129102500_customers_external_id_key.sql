-- no-transaction
-- What makes an import that is given again change nothing.
create unique index concurrently if not exists customers_external_id_key on customers (store_id, external_id) where external_id is not null;
