-- no-transaction
-- The list of customers, by the id that the shop knows them by.
create index concurrently if not exists customers_of_company_by_external_id on customers (company_id, external_id, created_at, id) where external_id is not null;
