-- no-transaction
-- One open account for one customer of the shop.
create unique index concurrently if not exists customers_external_id on customers (store_id, external_id) where external_id is not null and closed_at is null;
