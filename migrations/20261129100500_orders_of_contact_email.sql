-- no-transaction
create index concurrently if not exists orders_of_contact_email on orders (company_id, lower(contact_email), created_at, id)
    where deleted_at is null and customer_id is null and contact_email is not null;
