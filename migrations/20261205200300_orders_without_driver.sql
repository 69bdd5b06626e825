-- no-transaction
-- What waits for a driver, which dispatchers ask first.
create index concurrently if not exists orders_of_company_without_driver on orders (company_id, created_at, id)
    where deleted_at is null and driver_id is null;
