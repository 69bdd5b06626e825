-- no-transaction
create index concurrently outbox_of_company on outbox (company_id, position);
