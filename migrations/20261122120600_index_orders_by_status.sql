-- A list of one status is read from where it begins or goes on, however many orders have another.
create index orders_of_company_by_status on orders (company_id, status, created_at, id);
