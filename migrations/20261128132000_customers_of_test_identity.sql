-- no-transaction
-- The accounts that end with a test identity.
create index concurrently customers_of_test_identity on customers (test_identity_id) where test_identity_id is not null;
