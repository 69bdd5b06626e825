-- no-transaction
-- An address is that of an operator of one company, and says nothing about other companies. A later migration puts the index in the place of the other.
create unique index concurrently operators_email_key_of_company on operators (company_id, email) where deleted_at is null;
