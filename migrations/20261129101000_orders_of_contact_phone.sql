-- no-transaction
create index concurrently if not exists orders_of_contact_phone on orders (company_id, contact_phone, created_at, id)
    where deleted_at is null and customer_id is null and contact_phone is not null;
