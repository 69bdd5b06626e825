-- no-transaction
create index concurrently if not exists drivers_of_company_by_email_key on drivers (company_id, lower(email), created_at, id)
    where deleted_at is null and email is not null;
