-- no-transaction
-- A driver is found by the address in whatever case it was typed.
drop index concurrently if exists drivers_of_company_by_email;
